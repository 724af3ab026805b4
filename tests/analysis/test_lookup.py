"""Products that hide in a table: what strictness refuses, and the nonlinear tables that it does not."""

from __future__ import annotations

import dataclasses
import itertools
import time
from fractions import Fraction

import numpy as np
import pytest

from mfsim.analysis import count, strict_multiplication_free
from mfsim.analysis.affine import holds_power_of_two, rising_slopes, simplest
from mfsim.analysis.lookup import hidden_gain
from mfsim.errors import CountError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range
from mfsim.ops.function_table import FUNCTIONS, function_table
from mfsim.ops.op import activation
from mfsim.ops.softmax.tables import exp_table, log_tables, tanh_table
from tests.analysis.programs import one

CODES = np.arange(-128, 128)


def rounded(gain, codes=CODES, offset=Fraction(0)):
    """Return floor(gain * code + offset + 1/2) for each code, exactly."""
    return np.array([(gain * int(code) + offset + Fraction(1, 2)).__floor__() for code in codes])


def pairwise_slopes(entries):
    """Return what `rising_slopes` returns, from its definition: every pair of entries."""
    last = len(entries) - 1
    begin = next((i for i in range(last) if entries[i + 1] != entries[0]), last)
    end = next((i for i in range(last, 0, -1) if entries[i - 1] != entries[last]), 0)
    if begin >= end:
        return (Fraction(0), None) if begin == last else None
    low, high = Fraction(0), None
    for i, j in itertools.product(range(begin + 1, last + 1), range(end)):
        if i > j:
            low = max(low, Fraction(entries[i] - entries[j] - 1, i - j))
        elif i < j:
            slope = Fraction(entries[j] - entries[i] + 1, j - i)
            high = slope if high is None else min(high, slope)
    return None if high is not None and high < low else (low, high)


def test_slopes_are_those_of_every_pair_for_all_small_tables():
    fitting = 0
    for entries in itertools.product(range(4), repeat=6):
        found = rising_slopes(entries)
        assert found == pairwise_slopes(entries), entries
        fitting += found is not None
    assert 0 < fitting < 4**6


def test_slopes_are_those_of_every_pair_for_random_products():
    rng = np.random.default_rng(0)
    fitting = 0
    for _ in range(500):
        entries = rounded(Fraction(int(rng.integers(1, 99)), 32), range(int(rng.integers(4, 40))))
        entries = np.clip(entries, *sorted(rng.integers(-2, 40, 2))) + (np.arange(entries.size) == rng.integers(40))
        found = rising_slopes(entries.tolist())
        assert found == pairwise_slopes(entries.tolist())
        fitting += found is not None
    assert 0 < fitting < 500


@pytest.mark.parametrize(
    ("entries", "gain"),
    [
        (3 * np.arange(-4, 5), 3),
        (np.clip(-5 * np.arange(-8, 8), -17, 18), -5),
        (rounded(Fraction(7, 10)), Fraction(7, 10)),
        (-rounded(Fraction(7, 10)), Fraction(-7, 10)),
        (rounded(Fraction(7, 10), offset=Fraction(3)), Fraction(7, 10)),
        (np.trunc(0.7 * CODES), 0),  # toward zero: one line below 0, another above it
        (np.floor(0.7 * CODES), Fraction(7, 10)),
        (np.ceil(0.7 * CODES), Fraction(7, 10)),
        (rounded(Fraction(7, 10)).clip(-50, 60), Fraction(7, 10)),
        (rounded(Fraction(7, 10)).clip(0, None), Fraction(7, 10)),
        (rounded(Fraction(3)).clip(-128, 127), 3),
        (rounded(Fraction(1, 11)), Fraction(1, 11)),
        (4 * np.arange(-4, 5), 0),
        (rounded(Fraction(1, 4)), 0),
        (rounded(Fraction(1, 4), offset=Fraction(1, 3)).clip(-9, 20), 0),
        (np.clip(np.arange(-8, 8), -3, 3), 0),
        (np.maximum(CODES, 0), 0),
        (np.abs(3 * np.arange(-4, 5)), 0),
        (np.random.default_rng(0).permutation(rounded(Fraction(7, 10))), 0),
        (np.array([0, 0, 7, 7]), 0),
        (np.sign(CODES) + np.sign(CODES - 11), 0),
        (np.zeros(4, int), 0),
        (np.array([5]), 0),
    ],
)
def test_product_that_hides_in_a_table(entries, gain):
    assert hidden_gain(entries) == gain


def test_a_product_that_wraps_around_its_word():
    wrapped = (3 * CODES + 128) % 256 - 128
    assert hidden_gain(wrapped, 8) == 3
    assert hidden_gain(wrapped, 9) == 0, "no step passes half of a word of 9 bits"
    assert hidden_gain((4 * CODES + 128) % 256 - 128, 8) == 0
    table = one("table", (4,), {"first": -128}, [(wrapped, 8, 0)])
    assert "multiplies by 3, within" in refusal(table)


def test_a_quantizer_of_up_to_three_codes_between_its_ends_is_comparisons():
    assert hidden_gain(rounded(Fraction(1, 11)).clip(-2, 2)) == 0
    assert hidden_gain(rounded(Fraction(1, 11)).clip(-3, 2)) != 0


@pytest.mark.parametrize("step", [-1, 1])
def test_a_product_ends_where_entries_are_more_than_half_a_step_off(step):
    """64 entries of 3 x: one of them a step aside is 1/2 from the line between, two steps are too far."""
    for place in range(2, 62):
        entries = 3 * np.arange(64)
        entries[place] += step
        assert hidden_gain(entries) == 3, place
        entries[place] += step
        assert hidden_gain(entries) == 0, place


def test_slopes_at_exactly_half_a_step_count():
    """0, 1, 1, 2, ... is within half a step of x/2 and x/2 + 1/2 only: both ends of the interval belong to it."""
    assert rising_slopes([0, 0, 1, 1, 2, 2, 3, 3]) == pairwise_slopes([0, 0, 1, 1, 2, 2, 3, 3])
    assert holds_power_of_two(Fraction(1, 2), Fraction(1, 2))
    assert not holds_power_of_two(Fraction(501, 1000), Fraction(999, 1000))
    assert holds_power_of_two(Fraction(3, 1000), Fraction(1, 256))
    assert holds_power_of_two(Fraction(3), Fraction(4))
    assert not holds_power_of_two(Fraction(3), Fraction(399, 100))


@pytest.mark.parametrize("ends", [(Fraction(69, 100), Fraction(71, 100)), (Fraction(5, 2), Fraction(13, 5))])
def test_the_gain_has_the_least_denominator_of_all_that_fit(ends):
    found = simplest(*ends)
    assert ends[0] <= found <= ends[1]
    for denominator in range(1, found.denominator):
        assert not any(ends[0] <= Fraction(n, denominator) <= ends[1] for n in range(3 * denominator))


def test_the_longest_table_is_judged_in_two_seconds():
    entries = rounded(Fraction(7, 10), np.arange(-(2**15), 2**15))
    started = time.perf_counter()
    assert hidden_gain(entries) == Fraction(7, 10)
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("x_exponent", "y_exponent"), [(-4, -4), (-4, -5), (-4, -7), (-5, -5), (-5, -7), (-6, -7)])
def test_functions_of_the_networks_are_no_products(name, x_exponent, y_exponent):
    codes = np.array(function_table(name, -128, 256, x_exponent, Format(8), y_exponent))
    assert np.unique(codes).size > 16
    assert hidden_gain(codes) == 0


@pytest.mark.parametrize("x_exponent", [-6, -5, -4, -3])
def test_tables_of_the_normalisers_are_no_products(x_exponent):
    logarithms = log_tables(x_exponent, 64, 8)
    tables = {
        "exp": exp_table(x_exponent, 8, 12),
        "tanh": tanh_table(x_exponent, 8, 12),
        **{name: getattr(logarithms, name) for name in ("lnm_table", "out_table")},
    }
    assert {name: hidden_gain(np.array(codes)) for name, codes in tables.items()} == dict.fromkeys(tables, 0)


def refusal(program):
    with pytest.raises(CountError) as caught:
        strict_multiplication_free(program)
    return str(caught.value)


def test_strictness_refuses_a_product_in_a_table():
    message = "table `c0` of node `node` multiplies by {}, within half a step; a table must be a nonlinear function"
    exact = one("table", (4,), {"first": -4}, [(3 * np.arange(-4, 5), 8, 0)])
    assert refusal(exact) == message.format(3)
    near = one("table", (4,), {"first": -128}, [(rounded(Fraction(7, 10)), 8, 0)])
    assert refusal(near) == message.format("7/10")
    assert refusal(count(near)) == message.format("7/10")


def ranged(entries, *ranges):
    """Return a program whose nodes read one table with codes of these ranges."""
    builder = ProgramBuilder()
    table = builder.constant("t", entries)
    outputs = []
    for k, (lo, hi) in enumerate(ranges):
        x = dataclasses.replace(activation(f"x{k}", (4,), Format(8)), range=Range.of(lo, hi))
        outputs.append(builder.node("table", [builder.input_tensor(x), table], {"first": -128}, name=f"n{k}"))
    return builder.finish(outputs)


def test_entries_that_no_code_meets_hide_no_product():
    entries = np.where(CODES < 32, rounded(Fraction(7, 10)), CODES**2)
    strict_multiplication_free(ranged(entries, (-128, 127)))
    message = "table `t` of node `n0` multiplies by 7/10, within half a step; a table must be a nonlinear function"
    assert refusal(ranged(entries, (-128, 31))) == message
    assert refusal(ranged(entries, (-128, 127), (-60, 20))) == message.replace("n0", "n1")
