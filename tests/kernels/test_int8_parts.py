"""Which products of 8 bits the ops become, on every level: the codes of the plain kernel, and when there are none."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.ir.formats import Format
from mfsim.kernels.gemm.decomposition import dense_sums, kind_of, mf_sums
from tests.kernels.prepared import check, prepared, program_of


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("signed", [True, False])
def test_matmul(level, signed, bias):
    rng = np.random.default_rng(0)
    w = rng.integers(-128, 128, (70, 33))
    check(program_of("matmul", ((5, 70), Format(8, signed), -3), (w, [-7]), bias=bias, rng=rng), rng)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("form", ["ef", "abs"])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("exponents", [[-7], [-4], [-10], [-1], [-13], [-7, -4, -13, -20, -1]], ids=str)
def test_mf_matmul_with_any_shift_between_the_grids(level, exponents, signed, form, zero, bias):
    rng = np.random.default_rng(1)
    w = rng.integers(-128, 128, (70, 5))
    w[rng.random(w.shape) < 0.2] = 0
    attributes = {"form": form, "sign_zero": zero}
    check(program_of("mf_matmul", ((9, 70), Format(8, signed), -4), (w, exponents), attributes, bias, rng), rng)
    if len(exponents) == 1:
        for grid in ("aligned", *["shared"] * (exponents == [-4])):
            program = program_of(
                "mf_matmul", ((70,), Format(8, signed), -4), (w, exponents), attributes | {"grid": grid}
            )
            check(program, rng)


@pytest.mark.parametrize("words", [(True, True), (False, True), (True, False)], ids=str)
def test_two_activations(level, words):
    rng = np.random.default_rng(2)
    x, w = ((2, 7, 20), Format(8, words[0]), -3), ((2, 20, 9), Format(8, words[1]), -5)
    check(program_of("matmul", x, w), rng)
    for form in ("ef", "abs"):
        check(program_of("mf_matmul", x, w, {"form": form}), rng)
        check(program_of("mf_matmul", x, ((2, 20, 9), Format(8, words[1]), -14), {"form": form, "sign_zero": 1}), rng)


def test_two_activations_of_more_rows_than_are_worked_on_at_a_time(level, monkeypatch):
    monkeypatch.setattr("mfsim.kernels.gemm.product.CACHE", 1)
    x, w = ((2, 200, 5), Format(8), -3), ((2, 5, 67), Format(8), -5)
    for op, attributes in (("matmul", {}), ("mf_matmul", {"form": "ef"})):
        check(program_of(op, x, w, attributes), np.random.default_rng(3))


def test_words_that_are_too_wide_have_no_fast_form():
    w = np.full((3, 2), 100)
    assert prepared(program_of("matmul", ((3,), Format(9), 0), (w, [0]))) is None
    assert prepared(program_of("matmul", ((1, 3), Format(8), 0), ((3, 2), Format(16), 0))) is None
    assert prepared(program_of("matmul", ((1, 3), Format(8, False), 0), ((3, 2), Format(8, False), 0))) is None
    assert prepared(program_of("mf_matmul", ((3,), Format(9), 0), (w, [0]))) is None
    assert prepared(program_of("mf_matmul", ((1, 3), Format(8), 0), ((3, 2), Format(9), 0))) is None


def test_sums_past_32_bits_have_no_fast_form():
    w, none = np.full((2, 1), 127), np.zeros(1, np.int64)
    assert dense_sums((-128, 127), w, none, (-(2**31), 2**31 - 1), 2) is not None
    assert dense_sums((-128, 127), w, none, (-(2**31) - 1, 0), 2) is None
    assert dense_sums((-128, 127), w, none, (0, 2**31), 2) is None
    attributes = {"form": "ef", "sign_zero": 0, "shift_x": (7,), "shift_w": (0,)}
    split = mf_sums((-128, 127), w, none, (0, 2**31), attributes, 2)
    assert [each.shifts.tolist() for each in split] == [[7], [0]], "two products: each sum alone fits"
    assert mf_sums((-128, 127), w, np.array([2**31 - 600]), (0, 2**31), attributes, 2) is not None
    assert mf_sums((-128, 127), w, np.array([2**31 - 300]), (0, 2**31), attributes, 2) is None


def test_grids_that_join_are_one_product():
    w, none = np.full((2, 1), 63), np.zeros(1, np.int64)
    for shifts, products in (((0, 0), 1), ((6, 0), 1), ((7, 0), 1), ((8, 0), 2), ((0, 1), 1), ((0, 6), 1), ((0, 8), 2)):
        attributes = {"form": "ef", "sign_zero": 0, "shift_x": shifts[:1], "shift_w": shifts[1:]}
        assert len(mf_sums((-128, 127), w, none, (-(2**20), 2**20), attributes, 2)) == products, shifts


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ((-128, 127), (-128, 127), "ss"),
        ((0, 127), (-128, 127), "ss"),
        ((0, 128), (-128, 127), "us"),
        ((0, 255), (-128, 127), "us"),
        ((-1, 128), (-128, 127), None),
        ((0, 256), (0, 1), None),
        ((-128, 127), (0, 255), "su"),
        ((-128, 127), (-1, 128), None),
        ((0, 128), (0, 128), None),
    ],
)
def test_kinds(left, right, kind):
    assert kind_of(left, right) == kind
