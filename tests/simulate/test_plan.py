"""Plans: what is a view, what is shared, what products fit into words, and that no code or event depends on it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.kernels import cpu
from mfsim.parity.reference import run_reference
from mfsim.simulate import simulate
from mfsim.simulate.dispatch import Ending, fast_kernel_of
from mfsim.simulate.planner import LINE, Plan
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
    """Fail unless fast and plain kernels give the same codes and events; return the fast plan."""
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


@pytest.mark.parametrize("level", cpu.available())
@pytest.mark.parametrize("rounding", ["half_even", "half_away"])
def test_a_product_of_activations_fits_its_sums_on_every_level(level, rounding, monkeypatch):
    monkeypatch.setenv(cpu.VARIABLE, level)
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


def test_rules_of_channels_go_in_front_of_what_moves_them():
    for op, shape, perm, reshaped, axis, steps in (
        ("matmul", (12, 5), (0, 2, 1), (5, 4, 3), 1, 2),
        ("matmul", (12, 5), (0, 2, 1), (5, 12), 1, 2),
        ("mf_matmul", (3, 4, 5), (0, 3, 1, 2), (5, 3, 4), 1, 2),
        ("matmul", (3, 4, 5), (0, 2, 1, 3), (4, 3, 5), 3, 2),
        ("conv2d", (5, 4, 6), (0, 2, 3, 1), (4, 6, 5), 3, 2),
        ("matmul", (5, 4, 3), (0, 2, 1, 3), (4, 5, 3), 2, 3),  # another axis of as many entries
    ):
        builder = ProgramBuilder()
        if steps == 3:
            x = builder.input("x", (5, 4, 6), Format(8), Scale.of(-5))
            w = builder.constant("w", RNG.integers(-127, 128, (6, 3)), Format(8), Scale.of(-7))
            y = builder.node("matmul", [x, w], {})
        else:
            y = product(builder, op, (-7, -6, -8, -7, -5))
        y = builder.node("transpose", [builder.node("reshape", [y], {"shape": shape})], {"perm": perm})
        y = builder.node("reshape", [y], {"shape": reshaped})
        attributes = {"shift": (4, 0, -1, 5, 2), "axis": axis, "bits": 12, "signed": 1}
        plan = same_as_plain(builder.finish([builder.node("requantize", [y], attributes)]))
        assert len(plan.steps) == steps, (op, perm)


def test_an_accumulator_is_fitted_too():
    builder = ProgramBuilder()
    y = product(builder, "mf_matmul")
    plan = same_as_plain(builder.finish([builder.node("accumulator", [y], {"bits": 6, "signed": 1})]))
    assert len(plan.steps) == 1


def convolution(builder, op, pads, bits=8, exponents=(-7,), w_bits=8):
    """Add a convolution of 3 x 9 x 8 codes with 5 outputs of 3 x 3."""
    x = builder.input("x", (3, 9, 8), Format(bits), Scale.of(-5))
    scale = Scale(tuple(exponents), 0) if len(exponents) > 1 else Scale.of(exponents[0])
    codes = RNG.integers(-(2 ** (w_bits - 1)) + 1, 2 ** (w_bits - 1), (5, 3, 3, 3))
    return builder.node(op, [x, builder.constant("w", codes, Format(w_bits), scale)], {"pads": pads})


def pooled(builder, op, y, rows, columns, **more):
    """Add windows of rows x columns that do not overlap, unless `more` says so."""
    attributes = {"kernel": (rows, columns), "strides": (rows, columns), "pads": (0, 0, 0, 0), **more}
    return builder.node(op, [y], attributes | ({"mean": 0} if op == "sum_pool2d" else {}))


@pytest.mark.parametrize("pool", ["sum_pool2d", "max_pool2d"])
@pytest.mark.parametrize("op", ["conv2d", "mf_conv2d"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 1), (9, 8), (2, 3)], ids=str)
@pytest.mark.parametrize("rectified", ["no", "before", "behind"])
def test_a_convolution_joins_windows_and_fits_them(op, pool, shape, rectified):
    for exponents in ((-7,), (-15,)):  # the second: an MF product of two int8 products
        builder = ProgramBuilder()
        y = convolution(builder, op, (1, 1, 1, 1), exponents=exponents)
        if rectified == "before":
            y = builder.node("relu", [y], {})
        y = pooled(builder, pool, y, *shape)
        if rectified == "behind":
            y = builder.node("relu", [y], {})
        shift = 12 if op == "mf_conv2d" and len(exponents) == 1 and exponents[0] == -15 else 5
        word = {"shift": (shift,), "axis": -1, "bits": 8, "signed": 1}
        plan = same_as_plain(builder.finish([builder.node("requantize", [y], word)]))
        assert len(plan.steps) == 1


@pytest.mark.parametrize("level", cpu.available())
@pytest.mark.parametrize("size", [1, 2000], ids=str)
def test_windows_are_joined_on_every_level_and_in_pieces(level, size, monkeypatch):
    monkeypatch.setenv(cpu.VARIABLE, level)
    monkeypatch.setattr("mfsim.kernels.gemm.rows.CACHE", size)
    monkeypatch.setattr("mfsim.kernels.gemm.rows.OPERANDS", size)
    for op, axis in (("conv2d", 1), ("mf_conv2d", -1)):
        builder = ProgramBuilder()
        y = convolution(builder, op, (0, 2, 1, 0), exponents=(-7, -6, -8, -7, -5) if axis > 0 else (-7,))
        y = pooled(builder, "sum_pool2d", y, 2, 2)
        shift = (4, 0, -1, 5, 2) if axis > 0 else (4,)
        plan = same_as_plain(
            builder.finish([builder.node("requantize", [y], {"shift": shift, "axis": axis, "bits": 10, "signed": 1})])
        )
        assert len(plan.steps) == 1


def test_windows_that_are_not_joined():
    word = {"shift": (4,), "axis": -1, "bits": 8, "signed": 1}
    for more in ({"strides": (1, 2)}, {"pads": (1, 0, 0, 0)}):
        builder = ProgramBuilder()
        y = pooled(builder, "sum_pool2d", convolution(builder, "conv2d", (1, 1, 1, 1)), 2, 2, **more)
        assert len(same_as_plain(builder.finish([builder.node("requantize", [y], word)])).steps) == 3
    builder = ProgramBuilder()
    sums = convolution(builder, "conv2d", (1, 1, 1, 1))
    program = builder.finish([builder.node("requantize", [pooled(builder, "max_pool2d", sums, 2, 2)], word)])
    assert len(Plan(program, "fast", [sums]).steps) == 3, "sums that are seen are written"


def test_windows_of_reshaped_sums_and_of_one_code_are_not_joined():
    word = {"shift": (4,), "axis": -1, "bits": 8, "signed": 1}
    for shape in ((5, 8, 9), (10, 6, 6)):
        builder = ProgramBuilder()
        y = builder.node("reshape", [convolution(builder, "conv2d", (1, 1, 1, 1))], {"shape": shape})
        y = pooled(builder, "max_pool2d", y, 2, 2)
        assert len(same_as_plain(builder.finish([builder.node("requantize", [y], word)])).steps) > 1
    for op in ("sum_pool2d", "max_pool2d"):
        builder = ProgramBuilder()
        y = builder.node("relu", [convolution(builder, "conv2d", (1, 1, 1, 1))], {})
        y = pooled(builder, op, y, 1, 1)
        same_as_plain(builder.finish([builder.node("requantize", [y], word)]))


@pytest.mark.parametrize("outputs", [16, 40])
def test_pieces_of_narrow_planes_are_whole_windows(outputs, monkeypatch):
    monkeypatch.setattr("mfsim.kernels.gemm.rows.CACHE", 1 << 13)
    builder = ProgramBuilder()
    x = builder.input("x", (2, 602, 1), Format(8), Scale.of(-5))
    w = builder.constant("w", RNG.integers(-127, 128, (outputs, 2, 3, 1)), Format(8), Scale.of(-7))
    y = pooled(builder, "max_pool2d", builder.node("conv2d", [x, w], {}), 5, 1)
    word = {"shift": (4,), "axis": -1, "bits": 8, "signed": 1}
    assert len(same_as_plain(builder.finish([builder.node("requantize", [y], word)])).steps) == 1


@pytest.mark.parametrize("exponent", [16, 18, 20])
def test_sums_of_two_products_below_zero_are_not_cut(exponent):
    builder = ProgramBuilder()
    x = builder.input("x", (3, 6, 6), Format(8, False), Scale.of(-5))
    codes = -RNG.integers(60, 128, (5, 3, 3, 3))
    codes[:, 0, 0, 0] = 1
    w = builder.constant("w", codes, Format(8), Scale.of(exponent))
    sums = builder.node("mf_conv2d", [x, w], {"pads": (1, 1, 1, 1)})
    y = pooled(builder, "max_pool2d", builder.node("relu", [sums], {}), 2, 2)
    word = {"shift": (9,), "axis": -1, "bits": 8, "signed": 1}
    program = builder.finish([builder.node("requantize", [y], word)])
    assert program.tensors[sums].range.low < -(2**31), "a word of 32 bits would cut the sums"
    assert program.tensors[y].range.high < 2**31, "but not what ReLU leaves of them"
    assert len(same_as_plain(program).steps) == 1


def test_a_form_is_made_anew_for_another_range_of_its_windows():
    builder = ProgramBuilder()
    y = pooled(builder, "sum_pool2d", convolution(builder, "conv2d", (1, 1, 1, 1)), 2, 2)
    program = builder.finish([builder.node("requantize", [y], {"shift": (4,), "axis": -1, "bits": 8, "signed": 1})])
    conv, pool, fitting = program.nodes
    form = fast_kernel_of(program, conv, Ending(fitting, pool=pool))
    assert fast_kernel_of(program, conv, Ending(fitting, pool=pool)) is form
    tensor = program.tensors[y]
    other_program = replace(
        program,
        tensors={**program.tensors, y: replace(tensor, range=Range.of(tensor.range.low + 1, tensor.range.high))},
    )
    other = fast_kernel_of(other_program, conv, Ending(fitting, pool=pool))
    assert other is not form


@pytest.mark.parametrize("bits", [31, 32, 40, 63])
def test_negative_codes_wrap_into_long_words_without_a_sign(bits):
    for shift in (0, -6):
        builder = ProgramBuilder()
        x = builder.input("x", (4,), Format(8), Scale.of(0))
        word = {"shift": (shift,), "axis": -1, "bits": bits, "signed": 0, "overflow": "wrap"}
        program = builder.finish([builder.node("requantize", [x], word)])
        assert len(same_as_plain(program).steps) == 1
        assert simulate(program, np.full((1, 4), -1)).output.tolist() == [[2**bits - 2**-shift] * 4]


@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
@pytest.mark.parametrize("rounding", ["half_even", "half_away"])
@pytest.mark.parametrize("op", ["add", "sub", "constant", "relu", "add and relu", "soft_threshold"])
def test_sums_are_fitted_into_the_word_behind_them(op, rounding, overflow):
    for bits in (8, 34):
        builder = ProgramBuilder()
        a = builder.input("a", (4, 5), Format(bits), Scale.of(-4))
        if op in ("relu", "soft_threshold"):
            more = [builder.constant("t", np.array([9]), Format(6, False), Scale.of(-4))] if op != "relu" else []
            y = builder.node(op, [a, *more], {})
        else:
            b = (
                builder.constant("b", RNG.integers(-100, 100, (4, 5)), Format(8), Scale.of(-3))
                if op == "constant"
                else builder.input("b", (4, 5), Format(8), Scale.of(-3))
            )
            y = builder.node("sub" if op == "sub" else "add", [a, b], {})
            if op == "add and relu":
                y = builder.node("relu", [y], {})
        attributes = {"shift": (2,), "axis": -1, "bits": 5, "signed": 1, "rounding": rounding, "overflow": overflow}
        program = builder.finish([builder.node("requantize", [y], attributes)])
        assert len(same_as_plain(program).steps) == 1
        assert sum(simulate(program, random_codes(program, 9, 1)).overflows.values()) > 0


def test_sums_with_a_rule_for_each_channel_are_not_fitted():
    builder = ProgramBuilder()
    a, b = (builder.input(name, (4, 5), Format(8), Scale.of(-4)) for name in "ab")
    attributes = {"shift": (2, 1, 0, 3, 2), "axis": 2, "bits": 5, "signed": 1}
    program = builder.finish([builder.node("requantize", [builder.node("add", [a, b], {})], attributes)])
    assert len(same_as_plain(program).steps) == 2


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
    assert [step.run.__module__ for step in plan.steps] == ["mfsim.kernels.rows.epilogue"] * 2
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
    monkeypatch.setenv(cpu.VARIABLE, "portable")
    assert cpu.available() == ("portable",) or forms(program) != found
