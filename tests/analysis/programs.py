"""Small programs whose counts, words and memory can be worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Node, Program


def one(op, shape, attributes=None, constants=(), bits=8, exponent=-7, layer="layer", name="node"):
    """Return the program of one node on an input `x` of s<bits> codes and constants (codes, bits, exponent)."""
    builder = ProgramBuilder()
    inputs = [builder.input("x", shape, Format(bits), Scale.of(exponent))]
    for k, (codes, width, scale) in enumerate(constants):
        inputs.append(builder.constant(f"c{k}", np.asarray(codes), Format(width), Scale.of(scale)))
    return builder.finish([builder.node(op, inputs, attributes, layer=layer, name=name)])


def residual() -> Program:
    """Return x + wht(requantize(x)) behind a relu, 16 codes wide; x stays live until the sum."""
    builder = ProgramBuilder()
    x = builder.input("x", (16,), Format(8), Scale.of(-7))
    q = builder.node("requantize", [x], {"shift": (4,), "bits": 4}, name="quantizer", layer="block.quant")
    h = builder.node("wht", [q], {}, name="transform", layer="block.wht")
    s = builder.node("add", [x, h], {}, name="sum", layer="block")
    return builder.finish([builder.node("relu", [s], {}, name="positive", layer="block")])


def mixed() -> Program:
    """Return a network with MF and dense products, a table and a relabelled scale."""
    rng = np.random.default_rng(3)
    builder = ProgramBuilder()
    x = builder.input("x", (16,), Format(8), Scale.of(-7))
    w = builder.constant("mf.weight", rng.integers(-127, 128, (16, 8)), Format(8), Scale.of(-9))
    y = builder.node("mf_matmul", [x, w], {}, name="mf", layer="mf")
    y = builder.node("shift", [y], {"exponents": (3,)}, name="gain", layer="gain")
    y = builder.node("requantize", [y], {"shift": (5,), "bits": 6}, name="fit", layer="act")
    codes = np.arange(64) // 8
    t = builder.constant("act.table", codes, Format(4), Scale.of(-3))
    y = builder.node("table", [y, t], {"first": -32}, name="lookup", layer="act")
    v = builder.constant("head.weight", rng.integers(-7, 8, (8, 4)), Format(4), Scale.of(-3))
    return builder.finish([builder.node("matmul", [y, v], {}, name="head", layer="head")])


def with_unknown_op(program: Program, op: str = "wht2") -> Program:
    """Return `program` with its first node's op renamed to one that does not exist."""
    first, *rest = program.nodes
    renamed = Node(first.name, op, first.inputs, first.outputs, first.attributes, first.words, first.layer)
    return Program(program.inputs, program.outputs, program.tensors, (renamed, *rest), program.metadata)


def simulated(observed, overflows=None):
    """Return what `widths` reads of a simulation."""
    return SimpleNamespace(observed=observed, overflows=overflows or {})
