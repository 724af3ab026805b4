"""Tables and thresholds of softmax and tanh-l1: against double precision, and where they end."""

from __future__ import annotations

import math

import pytest

from mfsim.errors import FormatError, ShapeError
from mfsim.ops.softmax.tables import (
    default_fine_bits,
    default_fraction,
    eps_code,
    exp_table,
    log_tables,
    nearest_power_thresholds,
    reciprocal_one,
    row_bits,
    softmax_shift_thresholds,
    softmax_table_bits,
    tanh_l1_shift_thresholds,
    tanh_l1_table_bits,
    tanh_table,
)


def test_bits_of_a_row():
    assert [row_bits(n) for n in (1, 2, 3, 4, 5, 64, 65)] == [0, 1, 2, 2, 3, 6, 7]
    assert [default_fraction(n) for n in (1, 128, 129, 4096)] == [8, 8, 9, 13]
    with pytest.raises(ShapeError, match=r"^a row must have at least 1 entry, not 0$"):
        row_bits(0)


def test_the_number_of_thresholds_reached_is_the_rounded_logarithm():
    thresholds = nearest_power_thresholds(20)
    for value in range(1, 2**12):
        # log2 of a half is irrational, so no double lies on one.
        assert sum(value >= t for t in thresholds) == round(math.log2(value))
    assert thresholds[:4] == (2, 3, 6, 12)


@pytest.mark.parametrize(
    ("bits", "exponent", "table_bits", "entries"),
    [(8, -3, 12, 74), (8, -4, 12, 146), (8, -5, 12, 256), (16, -10, 12, 9229)],
)
def test_the_table_of_exp_ends_at_its_first_zero(bits, exponent, table_bits, entries):
    table = exp_table(exponent, bits, table_bits)
    assert len(table) == entries
    assert table[0] == 2**table_bits
    assert all(table[:-1])
    for d, entry in enumerate(table):
        # 1e-9 LSB: double precision of the reference.
        assert abs(entry - 2**table_bits * math.exp(-d * 2.0**exponent)) <= 0.5 + 1e-9


def test_a_gain_goes_into_the_table():
    gain = 1 / math.sqrt(48)
    for d, entry in enumerate(exp_table(-2, 6, 15, gain)):
        assert abs(entry - 2**15 * math.exp(-gain * d / 4)) <= 0.5 + 1e-9
    assert exp_table(-2, 6, 15, 0.25) == exp_table(-4, 6, 15)
    assert tanh_table(-2, 6, 15, 0.25) == tanh_table(-4, 6, 15)
    assert log_tables(-2, 9, 8, 0.25) == log_tables(-4, 9, 8)


def test_defaults():
    assert [softmax_table_bits(8, n) for n in (7, 16, 17, 65)] == [12, 12, 13, 15]
    assert [tanh_l1_table_bits(f) for f in (7, 10, 11, 14)] == [12, 12, 15, 18]
    assert reciprocal_one(8, 12) == 2**24
    assert reciprocal_one(24, 36) == 2**61
    for fraction in (8, 16, 24):
        for length in (1, 65, 4096, 2**16, 2**20):
            bits = softmax_table_bits(fraction, length)
            assert bits >= 12
            assert (2 ** (fraction + 1) + length) << bits <= 2**61
    assert [default_fine_bits(8, e) for e in (-4, -9, -12)] == [5, 0, 0]
    assert [default_fine_bits(8, -4, gain) for gain in (0.5, 0.51, 2.0)] == [4, 5, 6]


@pytest.mark.parametrize(("fine", "mantissa", "entries"), [(5, 8, 3196), (3, 6, 800), (2, 5, 401), (0, 4, 101)])
def test_tables_in_the_log_domain(fine, mantissa, entries):
    tables = log_tables(-4, 65, 8, fine_bits=fine, mantissa_bits=mantissa)
    unit = 2 ** (4 + fine)
    assert tables.fine == 2**fine
    assert tables.thresholds == tuple(2 ** (12 + j) for j in range(1, 9))
    assert tables.lnk_table == tuple(round(j * math.log(2) * unit) for j in range(9))
    assert tables.lnm_table == tuple(round(math.log1p(u / 2**mantissa) * unit) for u in range(2**mantissa + 1))
    assert tables.out_table == tuple(round(256 * math.exp(-v / unit)) for v in range(entries))
    assert tables.out_table[-2:] == (1, 0)


@pytest.mark.parametrize("signed", [True, False])
def test_the_table_of_tanh_ends_at_its_first_one(signed):
    table = tanh_table(-5, 8, 8, signed=signed)
    assert table == tuple(round(256 * math.tanh(a / 32)) for a in range(len(table)))
    assert table[-2:] == (255, 256)
    fine = tanh_table(-8, 8, 12, signed=signed)
    assert len(fine) == (129 if signed else 256), "the least code has an entry of its own"


def test_eps_is_at_least_one_code():
    assert [eps_code(eps, 12) for eps in (1e-6, 1e-3, 1.0)] == [1, 4, 4096]
    with pytest.raises(FormatError, match=r"^`eps` must be positive and at most 1, not 0$"):
        eps_code(0, 12)
    assert len(tanh_l1_shift_thresholds(12, 65)) == 21
    assert len(softmax_shift_thresholds(12, 65)) == 20


def test_errors():
    with pytest.raises(FormatError, match=r"^`bits` must be in 1\.\.16, not 17$"):
        exp_table(-4, 17, 12)
    with pytest.raises(FormatError, match=r"^`mantissa_bits` must be in 1\.\.11, not 12$"):
        log_tables(-4, 65, 8, mantissa_bits=12)
    with pytest.raises(
        FormatError, match=r"^the table of results for x on 2\^-9 with 5 fine bits needs more than 65536 entries; "
    ):
        log_tables(-9, 65, 8, fine_bits=5)
