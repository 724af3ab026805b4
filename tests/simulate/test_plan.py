"""Plans: what is a view, what is shared, what products fit into words, and that no code or event depends on it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mfsim.builder import ProgramBuilder
from mfsim.formats import Format, Scale
from mfsim.kernels import host
from mfsim.reference import run_reference
from mfsim.simulate import simulate
from mfsim.simulate.plan import LINE, Plan
from tests.bits import assert_bit_equal
from tests.programs import random_codes, random_program

RNG = np.random.default_rng(5)


def product(builder, op, exponents=(-7,)):
    """Add a product of 3 x 4 x 6 codes with 5 outputs, and return the name of its sums."""
    x = builder.input("x", (3, 4, 6), Format(8), Scale.of(-5))
    if op.endswith("pair"):
        other = builder.input("w", (3, 6, 5), Format(8), Scale.of(-7))
        return builder.node(op.removesuffix("_pair"), [x, other], {})
    shape, axis = ((5, 3, 1, 1), 0) if op.endswith("conv2d") else ((6, 5), 1)
    scale = Scale(tuple(exponents), axis) if len(exponents) > 1 else Scale.of(exponents[0])
    return builder.node(op, [x, builder.constant("w", RNG.integers(-127, 128, shape), Format(8), scale)], {})


def same_as_plain(program, samples=9):
    """Fail unless fast and plain forms give the same codes and events; return the fast plan."""
    codes = random_codes(program, samples, 1)
    plain, fast = (simulate(program, codes, kernels=kernels, batch_size=4) for kernels in ("plain", "fast"))
    for name in program.outputs:
        assert_bit_equal(fast.outputs[name], plain.outputs[name], name)
    assert fast.overflows == plain.overflows
    return Plan(program, "fast")


@pytest.mark.parametrize("seed", range(40))
def test_outputs_alone_equal_the_reference(seed):
    program = random_program(seed)
    codes = random_codes(program, 5, seed)
    expected, result = run_reference(program, codes), simulate(program, codes, batch_size=3)
    for name in program.outputs:
        assert_bit_equal(result.outputs[name], expected[name], f"{name} of program {seed}")


@pytest.mark.parametrize(
    ("op", "rectified", "between", "overflow", "signed"),
    list(
        itertools.product(
            ("matmul", "mf_conv2d", "matmul_pair"),
            (False, True),
            ("nothing", "view", "moved"),
            ("saturate", "wrap"),
            (0, 1),
        )
    ),
)
def test_a_product_fits_its_sums(op, rectified, between, overflow, signed):
    builder = ProgramBuilder()
    y, size = product(builder, op), 120 if op == "mf_conv2d" else 60
    if between != "nothing":
        y = builder.node("reshape", [y], {"shape": (size,) if between == "view" else (12, size // 12)})
    if rectified:
        y = builder.node("relu", [y], {})
    if between == "moved":
        y = builder.node("transpose", [y], {"perm": (0, 2, 1)})
    word = {"bits": 6, "signed": signed, "overflow": overflow}
    program = builder.finish([builder.node("requantize", [y], {"shift": (3,), "axis": -1, **word})])
    plan = same_as_plain(program)
    assert len(plan.steps) == (2 if between == "moved" else 1)
    assert sum(simulate(program, random_codes(program, 9, 1)).overflows.values()) > 0


@pytest.mark.parametrize("level", host.available())
@pytest.mark.parametrize("rounding", ["half_even", "half_away"])
def test_a_product_of_activations_fits_its_sums_on_every_level(level, rounding, monkeypatch):
    monkeypatch.setenv(host.VARIABLE, level)
    builder = ProgramBuilder()
    y = product(builder, "mf_matmul_pair")
    attributes = {"shift": (4,), "axis": -1, "bits": 8, "signed": 1, "rounding": rounding}
    assert len(same_as_plain(builder.finish([builder.node("requantize", [y], attributes)])).steps) == 1


@pytest.mark.parametrize("op", ["matmul", "conv2d", "mf_matmul", "mf_conv2d"])
@pytest.mark.parametrize("rounding", ["half_even", "half_up", "half_away", "floor", "ceil", "toward_zero"])
def test_a_product_fits_its_sums_channel_by_channel(op, rounding):
    builder = ProgramBuilder()
    y = product(builder, op, (-7, -6, -8, -7, -5))
    axis = 1 if op.endswith("conv2d") else 3
    attributes = {"shift": (4, 0, -1, 5, 2), "axis": axis, "bits": 12, "signed": 1, "rounding": rounding}
    plan = same_as_plain(builder.finish([builder.node("requantize", [y], attributes)]))
    assert len(plan.steps) == 1


def test_an_accumulator_is_fitted_too():
    builder = ProgramBuilder()
    y = product(builder, "mf_matmul")
    plan = same_as_plain(builder.finish([builder.node("accumulator", [y], {"bits": 6, "signed": 1})]))
    assert len(plan.steps) == 1


def test_what_is_seen_or_read_twice_is_written():
    builder = ProgramBuilder()
    y = product(builder, "matmul")
    z = builder.node("requantize", [y], {"shift": (5,), "axis": -1, "bits": 8, "signed": 1})
    program = builder.finish([z])
    assert len(Plan(program, "fast").steps) == 1
    assert len(Plan(program, "fast", [y]).steps) == 2
    kept = simulate(program, random_codes(program, 3), keep=[y]).kept[y]
    assert_bit_equal(kept, simulate(program, random_codes(program, 3), keep=[y], kernels="plain").kept[y])
    other = builder.node("relu", [y], {})
    assert len(same_as_plain(builder.finish([z, other])).steps) == 3


def test_channels_that_are_not_those_of_the_product_are_left_alone():
    builder = ProgramBuilder()
    y = product(builder, "matmul")
    attributes = {"shift": (4, 5, 6, 7), "axis": 2, "bits": 8, "signed": 1}
    assert len(same_as_plain(builder.finish([builder.node("requantize", [y], attributes)])).steps) == 2


def test_views_and_repetitions_share_buffers_and_each_counts_its_events():
    builder = ProgramBuilder()
    x = builder.input("x", (4, 6), Format(9), Scale.of(-5))
    attributes = {"shift": (1,), "axis": -1, "bits": 4, "signed": 1}
    first, second = (builder.node("requantize", [x], attributes) for _ in range(2))
    flat, other = builder.node("flatten", [first], {}), builder.node("relu", [second], {})
    program = builder.finish([flat, other, second])
    plan = same_as_plain(program)
    assert [step.run.__module__ for step in plan.steps] == ["mfsim.kernels.fits"] * 2
    events = simulate(program, random_codes(program, 20)).overflows
    assert len(events) == 2
    assert len(set(events.values())) == 1
    assert sum(events.values()) > 0


def test_an_output_may_be_a_view_of_an_input():
    builder = ProgramBuilder()
    x = builder.input("x", (2, 3), Format(8), Scale.of(-5))
    program = builder.finish([builder.node("flatten", [x], {}), x])
    codes = random_codes(program, 4)
    result = simulate(program, codes, observe=True)
    assert_bit_equal(result.outputs[program.outputs[0]], codes["x"].reshape(4, 6))
    assert result.observed["x"] == result.observed[program.outputs[0]]


@pytest.mark.parametrize("seed", range(12))
def test_buffers_that_are_live_at_one_time_do_not_overlap(seed):
    plan = Plan(random_program(seed), "fast")
    for one, other in itertools.combinations(plan.buffers.values(), 2):
        if one.first <= other.last and other.first <= one.last:
            first, second = sorted((one, other), key=lambda buffer: buffer.offset)
            assert first.offset + first.bytes <= second.offset or not first.bytes or not second.bytes
    assert all(buffer.offset % LINE == 0 for buffer in plan.buffers.values())


def test_buffers_are_reused():
    builder = ProgramBuilder()
    x = builder.input("x", (64,), Format(8), Scale.of(-5))
    for _ in range(9):
        x = builder.node("requantize", [x], {"shift": (0,), "axis": -1, "bits": 8, "signed": 1, "rounding": "floor"})
        x = builder.node("neg", [x], {})
    plan = Plan(builder.finish([x]), "fast")
    assert plan.sample < sum(buffer.bytes for buffer in plan.buffers.values()) / 3


def test_forms_are_kept_for_a_node_and_what_it_is_made_of(monkeypatch):
    builder = ProgramBuilder()
    y = product(builder, "matmul")
    z = builder.node("requantize", [y], {"shift": (5,), "axis": -1, "bits": 8, "signed": 1})
    program = builder.finish([z])

    def forms(program, seen=()):
        return [step.run for step in Plan(program, "fast", seen).steps]

    assert forms(program) == forms(program)
    assert forms(program, [y]) == forms(program, [y])
    assert forms(program) == forms(program)
    other = replace(program.tensors["w"], codes=program.tensors["w"].codes[::-1])
    assert forms(replace(program, tensors={**program.tensors, "w": other})) != forms(program)
    found = forms(program)
    monkeypatch.setenv(host.VARIABLE, "portable")
    assert host.available() == ("portable",) or forms(program) != found
