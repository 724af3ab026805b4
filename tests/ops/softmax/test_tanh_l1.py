"""Tanh-l1 of codes: error against the float function, words, masks, counts; and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mfsim import ops
from mfsim.analysis import count, strict_multiplication_free
from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Scale
from mfsim.ops.op import activation, constant
from mfsim.ops.softmax.tables import eps_code
from tests.ops.normaliser_programs import TANHS, program, rows, run

EXPONENT, EPS = -5, 1e-3


def parts(codes, gain=1.0):
    """Return tanh of codes and its sum of magnitudes with eps."""
    t = np.tanh(gain * 2.0**EXPONENT * codes)
    return t, EPS + abs(t).sum(-1, keepdims=True)


@pytest.mark.parametrize("gain", [1.0, 0.3])
@pytest.mark.parametrize(
    ("length", "fraction", "measured"), [(65, 7, 0.51), (65, 10, 0.51), (65, 14, 0.51), (1000, 10, 0.51)]
)
def test_the_error_of_two_thousand_rows(length, fraction, measured, gain):
    """Each weight within its proved bound; the greatest error, in LSB, within what docs/integer-functions.md says."""
    codes, table_bits = rows(2000, length, EXPONENT, 1), 12 if fraction <= 10 else 18
    y = run(program("tanh_l1", (length,), EXPONENT, fraction, gain=gain, eps=EPS), codes)
    t, total = parts(codes, gain)
    error, divisor = abs(y - 2.0**fraction * t / total), total * 2**table_bits
    bound = 0.5 + 2.0**fraction * (0.5 + abs(t / total) * (length / 2 + 1)) / (divisor - length / 2 - 1)
    # 1e-9 LSB: double precision of the reference.
    assert (error <= bound + 1e-9).all()
    assert error.max() <= measured * (1 if gain == 1 else 1.02)
    assert error.mean() <= 0.28


def test_shift_is_tanh_l1_with_its_divisor_rounded_to_a_power_of_two():
    length, fraction, table_bits = 65, 10, 12
    codes = rows(5000, length, EXPONENT, 1)
    y = run(program("tanh_l1_shift", (length,), EXPONENT, fraction, eps=EPS), codes)
    t, total = parts(codes)
    logarithm = np.log2(total)
    far = abs(logarithm - np.floor(logarithm) - 0.5)[:, 0] > length * 2.0 ** -(table_bits + 1)
    assert far.mean() > 0.9
    k = np.rint(logarithm)
    error = abs(y - 2.0**fraction * t / 2.0**k)
    assert (error <= 0.5 + 2.0**fraction / 2.0 ** (k + table_bits + 1))[far].all()
    sums = abs(y).sum(-1) / 2**fraction
    assert 0.7 < sums.min() < sums.max() < 1.43


@pytest.mark.parametrize("op", sorted(TANHS))
def test_it_is_odd_and_a_row_of_zeros_stays_zero(op):
    codes = np.maximum(rows(200, 7, EXPONENT, 2), -127)
    made = program(op, (7,), EXPONENT)
    assert (run(made, codes) == -run(made, -codes)).all()
    assert not run(made, codes * 0).any()


@pytest.mark.parametrize("op", sorted(TANHS))
def test_the_least_code_has_a_magnitude_of_its_own(op):
    made = program(op, (2,), -8, 7)
    assert made.tensors["tanh_table"].shape == (129,)
    low, high = run(made, np.array([[-128, 127]]))[0]
    assert low < 0 < high
    assert count(made).by_primitive().get("cmp", 0) == count(made).by_primitive().get("select", 0)


@pytest.mark.parametrize("op", sorted(TANHS))
def test_what_a_mask_hides_is_as_if_it_were_not_there(op):
    codes = rows(50, 5, EXPONENT, 2)[:, None]
    mask = np.array([1, 0, 1, 1, 0])
    visible = run(program(op, (1, 3)), codes[:, :, mask == 1])
    for given, feeds in ((mask, ()), ((1, 5), (np.broadcast_to(mask, (50, 1, 5)),))):
        y = run(program(op, (1, 5), mask=given), codes, *feeds)
        assert (y[:, :, mask == 1] == visible).all()
        assert not y[:, :, mask == 0].any()
    assert not run(program(op, (5,), mask=(5,)), codes[:, 0], np.zeros((50, 5), dtype=np.int64)).any()


def test_words():
    for length, fraction, table_bits, total, y in ((65, 7, 12, 19, 9), (4096, 7, 12, 25, 9), (4096, 14, 15, 28, 16)):
        made = program("tanh_l1", (length,), -3, fraction, table_bits=table_bits, eps=1e-6)
        (node,) = made.nodes
        assert node.words["sum"].bits == total
        assert str(made.outputs_of(node)[0].format) == f"s{y}"


@pytest.mark.parametrize("n", [7, 65, 1000])
def test_counts_of_a_row(n):
    """The table ends at its first 1, so each index is compared."""
    steps = math.ceil(math.log2(12 + math.ceil(math.log2(n)) + 2 + 1))
    made = {op: count(program(op, (n,), -4, bits=9)).by_primitive() for op in TANHS}
    assert made["tanh_l1"] == {
        "addsub": 2 * n, "neg": n, "abs": n, "cmp": n, "select": n, "shift": n + 1, "lut": n, "div": n, "mul": 0, "sqrt": 0,
    }  # fmt: skip
    assert made["tanh_l1_shift"] == {
        "addsub": 2 * n + 1, "neg": n, "abs": n, "cmp": n + steps, "select": n + steps, "shift": 2 * n + 1,
        "lut": n + steps, "div": 0, "mul": 0, "sqrt": 0,
    }  # fmt: skip


def test_shift_is_multiplication_free():
    report = strict_multiplication_free(program("tanh_l1_shift", (65,), EXPONENT))
    assert not report.multiplications()
    assert [table.name for table in report.tables] == ["tanh_table", "thresholds"]


@pytest.mark.parametrize("power", [14, 16, 17])
def test_a_divisor_on_a_threshold_is_rounded_up(power):
    """Chosen by eps: a row whose divisor is the threshold itself, and one that is one less."""
    codes, table_bits, fraction = rows(1, 65, EXPONENT, 1), 12, 8
    table = np.array(program("tanh_l1", (65,), EXPONENT).tensors["tanh_table"].codes)
    terms = table[np.minimum(abs(codes), len(table) - 1)]
    threshold = math.isqrt(2 ** (2 * power - 1)) + 1
    kept = terms.cumsum() < threshold - 1
    codes, terms = codes * kept, terms * kept
    for divisor, k in ((threshold, power), (threshold - 1, power - 1)):
        eps = int(divisor - terms.sum())
        y = run(program("tanh_l1_shift", (65,), EXPONENT, fraction, eps=eps / 2**table_bits), codes)
        assert (abs(y) == (terms * 2 ** (fraction + 1) + 2**k) // 2 ** (k + 1)).all()


def test_refusals():
    x, table = activation("x", (4,), Format(8), Scale.of(-4)), constant("t", [0, 3, 8])

    def infer(op, *others, **attributes):
        tensors = [x, *others]
        return ops.get(op).infer(tensors, ops.get(op).derived(tensors, {"fraction": 2, "eps": 1} | attributes))

    infer("tanh_l1", table)
    with pytest.raises(FormatError, match=r"^`tanh_table` of op `tanh_l1` must start with 0 and never fall$"):
        infer("tanh_l1", constant("t", [1, 3]))
    with pytest.raises(FormatError, match=r"^`tanh_table` of op `tanh_l1` must start with 0 and never fall$"):
        infer("tanh_l1", constant("t", [0, 3, 2]))
    with pytest.raises(FormatError, match=r"^`eps` of op `tanh_l1` must be at least 1, not 0$"):
        infer("tanh_l1", table, eps=0)
    with pytest.raises(
        FormatError, match=r"^`clamp` of op `tanh_l1` must not be none: an index may pass the end of the table$"
    ):
        infer("tanh_l1", table, clamp="none")
    with pytest.raises(FormatError, match=r"^`thresholds` of op `tanh_l1_shift` must ascend$"):
        infer("tanh_l1_shift", table, constant("thresholds", [3, 2]))
    with pytest.raises(FormatError, match=r"^row 0 of the mask of op `tanh_l1` must allow at least one entry$"):
        infer("tanh_l1", table, constant("mask", [0, 0, 0, 0]))
    assert eps_code(1e-6, 12) == 1
