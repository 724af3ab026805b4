"""Stages: which nodes belong together, where one ends, and that each node is in exactly one."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.cim import ARRAYS, map_program
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ir.stages import stages
from tests.programs import random_program

WORD = {"axis": -1, "bits": 8, "signed": 1, "narrow": 0, "rounding": "half_even", "overflow": "saturate"}
NARROW = WORD | {"shift": (8,)}
"""A requantize of sums of products of 8-bit codes."""
RNG = np.random.default_rng(3)


def network():
    """Return a builder with an input `x` of planes, and a function that adds nodes named after their outputs."""
    builder = ProgramBuilder()
    builder.input("x", (3, 8, 8), Format(8), Scale.of(-7))
    builder.constant("w", RNG.integers(-127, 128, (4, 3, 1, 1)), Format(8), Scale.of(-7))

    def add(name, op, *inputs, **attributes):
        return builder.node(op, list(inputs), attributes, name=name, outputs=[name])

    return builder, add


def grouped(program):
    """Return the names of the nodes of each stage."""
    return [[node.name for node in stage.nodes] for stage in stages(program)]


def test_what_treats_sums_belongs_to_their_product():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("relu", "relu", "conv")
    add("pool", "max_pool2d", "relu", kernel=(2, 2), strides=(2, 2))
    add("word", "requantize", "pool", **NARROW)
    add("moved", "transpose", "word", perm=(0, 2, 3, 1))
    add("flat", "reshape", "moved", shape=(64,))
    add("limit", "clip", "flat", lo=-5, hi=5)
    (stage,) = stages(builder.finish(["limit"]))
    assert stage.node.name == "conv"
    assert stage.computes
    assert [node.name for node in stage.behind] == ["relu", "pool", "word", "moved", "flat", "limit"]
    assert (stage.inputs, stage.outputs, stage.readers) == (("x", "w"), ("limit",), ())


def test_a_fork_ends_a_stage():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("word", "requantize", "conv", **NARROW)
    add("left", "relu", "word")
    add("right", "abs", "word")
    add("sum", "add", "left", "right")
    program = builder.finish(["sum"])
    assert grouped(program) == [["conv", "word"], ["left"], ["right"], ["sum"]]
    first, left, right, last = stages(program)
    assert first.readers == ("left", "right")
    assert (left.computes, right.computes) == (False, True)
    assert left.readers == right.readers == ("sum",)
    assert last.inputs == ("left", "right")


def test_a_value_that_one_node_reads_twice_forks():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("double", "add", "conv", "conv")
    program = builder.finish(["double"])
    assert grouped(program) == [["conv"], ["double"]]
    assert stages(program)[0].readers == ("double",)


def test_an_output_in_the_middle_ends_a_stage():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("relu", "relu", "conv")
    add("word", "requantize", "relu", **NARROW)
    program = builder.finish(["word", "relu"])
    assert grouped(program) == [["conv", "relu"], ["word"]]
    assert stages(program)[0].readers == ("word",)


def test_what_is_kept_ends_a_stage_as_an_output_does():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("relu", "relu", "conv")
    add("word", "requantize", "relu", **NARROW)
    found = stages(builder.finish(["word"]), kept=["conv"])
    assert [[node.name for node in stage.nodes] for stage in found] == [["conv"], ["relu", "word"]]
    assert not found[1].computes


def test_an_accumulator_word_belongs_to_its_product():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("acc", "accumulator", "conv", bits=14, signed=1, overflow="saturate")
    add("word", "requantize", "acc", **NARROW)
    assert grouped(builder.finish(["word"])) == [["conv", "acc", "word"]]


def test_what_treats_an_input_is_a_stage_without_a_computing_node():
    builder, add = network()
    add("word", "requantize", "x", **WORD | {"shift": (1,)})
    add("flat", "flatten", "word")
    (stage,) = stages(builder.finish(["flat"]))
    assert [node.name for node in stage.nodes] == ["word", "flat"]
    assert not stage.computes


def test_a_view_that_is_left_out_joins_what_stands_around_it():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("flat", "reshape", "conv", shape=(256,))
    add("word", "requantize", "flat", **NARROW)
    program = builder.finish(["word"])
    (stage,) = stages(program, [node for node in program.nodes if node.name != "flat"], {"flat": "conv"})
    assert [node.name for node in stage.nodes] == ["conv", "word"]


def test_views_that_are_left_out_hide_no_reader():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("flat", "reshape", "conv", shape=(256,))
    add("word", "requantize", "flat", **NARROW)
    add("other", "relu", "conv")
    program = builder.finish(["word", "other"])
    nodes = [node for node in program.nodes if node.name != "flat"]
    assert [len(stage.nodes) for stage in stages(program, nodes, {"flat": "conv"})] == [1, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_each_node_is_in_one_stage(seed):
    program = random_program(seed)
    found = stages(program)
    assert sorted(node.name for stage in found for node in stage.nodes) == sorted(node.name for node in program.nodes)
    makers = {name: stage for stage in found for name in stage.outputs}
    for stage in found:
        for name in stage.inputs:
            assert name in makers or name in program.inputs or program.tensors[name].is_constant, name
            if name in makers:
                assert stage.node.name in makers[name].readers


def test_the_in_memory_mapping_names_what_a_digital_node_stands_behind():
    builder, add = network()
    add("conv", "conv2d", "x", "w")
    add("relu", "relu", "conv")
    add("word", "requantize", "relu", **NARROW)
    add("size", "abs", "word")
    report = map_program(builder.finish(["size"]), ARRAYS["mf-net-8x62"])
    assert [(node.node, node.behind) for node in report.digital] == [("relu", "conv"), ("word", "conv"), ("size", "")]
