"""Rounded quotients in float64: exact up to the last numerator that is allowed, next to every boundary."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mfsim.kernels.rows.quotients import BITS, DIVISION, RECIPROCAL, SHIFT, Quotient, factor_of
from mfsim.kernels.rows.search import search_table


def rounded(code, divisor, quotient):
    """Return what a kernel makes of one code."""
    factor, half = factor_of(divisor, quotient)
    product = float(code) * factor
    return math.trunc(product + math.copysign(half, product))


def of_magnitude(code, numerator, denominator):
    """Return the definition: the magnitude rounded, halves up, with the sign of the code."""
    magnitude = (2 * abs(code) * numerator + denominator) // (2 * denominator)
    return magnitude if code >= 0 else -magnitude


@pytest.mark.parametrize("places", [-9, 0, 13])
def test_division_next_to_ties(places):
    rng = np.random.default_rng(places + 9)
    quotient, up, down = Quotient(DIVISION, math.ldexp(1.0, places)), 2 ** max(places, 0), 2 ** max(-places, 0)
    most = (1 << BITS[DIVISION]) - 1
    divisors = [1, 2, 3, 5, 2**20 - 1, 2**20, 2**31 - 1, *(int(d) for d in rng.integers(1, 2**31, 50))]
    checked = 0
    for divisor in divisors:
        greatest = (most - divisor * down) // (2 * up)
        result = of_magnitude(greatest, up, divisor * down)
        for wanted in (0, 1, 2, result // 3, result - 1, result):
            # The codes whose quotients are nearest to wanted - 1/2.
            tie = (2 * wanted - 1) * divisor * down // (2 * up)
            for code in (tie - 1, tie, tie + 1, greatest):
                if 0 <= code <= greatest:
                    for sign in (1, -1):
                        exact = of_magnitude(sign * code, up, divisor * down)
                        assert rounded(sign * code, divisor, quotient) == exact, (code, divisor)
                        checked += 1
    assert checked > 500


@pytest.mark.parametrize("power", [9, 30, 44])
def test_reciprocal_up_to_its_longest_product(power):
    rng = np.random.default_rng(power)
    fraction = 8
    quotient = Quotient(RECIPROCAL, math.ldexp(1.0, fraction - power), power)
    for divisor in (1, 3, 255, *(int(d) for d in rng.integers(1, 2**power, 50))):
        reciprocal = 2**power // divisor
        greatest = ((1 << BITS[RECIPROCAL]) - 1 - (1 << power - fraction - 1)) // reciprocal
        for code in (0, 1, greatest // 2, greatest - 1, greatest, -greatest):
            exact = of_magnitude(code, reciprocal, 1 << power - fraction)
            assert rounded(code, divisor, quotient) == exact, (code, divisor)


def test_shift_by_every_number_of_thresholds():
    thresholds = [2**j for j in range(1, 40)]
    quotient = Quotient(SHIFT, 4.0, 0, search_table(thresholds))
    for divisor in (0, 1, *thresholds, *(t - 1 for t in thresholds)):
        reached = sum(divisor >= t for t in thresholds)
        for code in (0, 1, 3, 2**reached // 8, 3 * 2**reached // 8 - 1, 2**50 - 1, 1 - 2**50):
            assert rounded(code, divisor, quotient) == of_magnitude(code, 4, 2**reached)
