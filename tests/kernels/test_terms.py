"""Sums of distances and of signed minima in 16 and in 32 bits: the codes of the plain kernel, and when there are none."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ops.distance.fast import words
from mfsim.simulate import simulate
from mfsim.simulate.planner import Plan
from tests.bits import assert_bit_equal
from tests.kernels.prepared import check, prepared, program_of

OPS = pytest.mark.parametrize("op", ["adder_matmul", "min_matmul"])
BYTE = (-128, 127)


@OPS
@pytest.mark.parametrize(("bits", "exponent"), [(8, -4), (8, -7), (14, -4)], ids=str)
def test_more_terms_than_fit_their_word(op, bits, exponent):
    rng = np.random.default_rng(0)
    w = rng.integers(-128, 128, (300, 33))
    check(program_of(op, ((7, 300), Format(bits), -4), (w, [exponent]), bias=True, rng=rng), rng)


@OPS
def test_two_activations(op, monkeypatch):
    rng = np.random.default_rng(1)
    monkeypatch.setattr("mfsim.kernels.gemm.product.CACHE", 1)
    for exponent in (-4, -6):
        check(program_of(op, ((2, 9, 150), Format(8), -4), ((2, 150, 34), Format(8), exponent)), rng)


@pytest.mark.parametrize("op", ["adder_conv2d", "min_conv2d"])
def test_windows(op):
    rng = np.random.default_rng(2)
    w = rng.integers(-128, 128, (16, 3, 3, 2))
    attributes = {"groups": 2, "pads": (1, 0, 0, 1), "strides": (1, 2)}
    check(program_of(op, ((6, 5, 4), Format(8), -4), (w, [-6]), attributes, bias=True, rng=rng), rng)


@pytest.mark.parametrize("op", ["adder_matmul", "min_matmul", "adder_conv2d", "min_conv2d", "shift_conv2d"])
def test_sums_are_fitted_and_columns_that_fill_a_vector_up_are_not_counted(op):
    rng = np.random.default_rng(4)
    shape, w_shape = ((3, 5, 6), (10, 3, 3, 3)) if op.endswith("conv2d") else ((9, 20), (20, 33))
    w = 1 << rng.integers(0, 9, w_shape) if op.startswith("shift") else rng.integers(-60, 60, w_shape)
    builder = ProgramBuilder()
    names = [builder.input("x", shape, Format(8), Scale.of(-4)), builder.constant("w", w, Format(12), Scale.of(-4))]
    y = builder.node(op, names, {})
    program = builder.finish([builder.node("requantize", [y], {"shift": (4,), "axis": -1, "bits": 8, "signed": 1})])
    codes = rng.integers(-128, 128, (4, *shape))
    fast, plain = (simulate(program, codes, kernels=kernels) for kernels in ("fast", "plain"))
    assert_bit_equal(fast.output, plain.output)
    assert fast.overflows == plain.overflows
    assert len(Plan(program, "fast").steps) == 1


def test_sums_past_32_bits_have_no_fast_form():
    w = np.full((3, 1), 100)
    assert prepared(program_of("min_matmul", ((3,), Format(30), 0), (w, [0]))) is not None, "minima are small"
    assert prepared(program_of("adder_matmul", ((3,), Format(30), 0), (w, [0]))) is None


def test_words():
    assert words(0, BYTE, BYTE, 300, 0) == (np.int16, (2**15 - 1 - 255) // 255)
    assert words(1, BYTE, BYTE, 300, 0) == (np.int16, (2**15 - 1 - 256) // 256)
    assert words(0, BYTE, BYTE, 9, 0) == (np.int16, 9)
    assert words(0, (-(2**12), 2**12), (0, 0), 9, 0) == (np.int32, 9)
    assert words(0, (0, 0), (0, 0), 9, 0) == (np.int16, 9)
    most = (2**31 - 1 - 255) // 255
    assert words(0, BYTE, BYTE, most, 0) is not None
    assert words(0, BYTE, BYTE, most + 1, 0) is None
    assert words(0, BYTE, BYTE, 9, 2**30) is None
