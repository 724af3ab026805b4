"""Power-of-two scales: the least that holds the values, or the one with the least error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfsim.quant.scales import (
    Partner,
    choose_exponent,
    fitting_exponent,
    power_exponents,
    squared_error,
    weight_exponents,
)


@given(st.floats(2.0**-40, 2.0**40), st.integers(1, 2**15))
def test_the_fitting_exponent_is_the_least(magnitude, hi):
    exponent = fitting_exponent(magnitude, hi)
    assert np.ldexp(hi, exponent) >= magnitude
    assert np.ldexp(hi, exponent - 1) < magnitude


@pytest.mark.parametrize(("magnitude", "exponent"), [(127.0, 0), (127.0001, 1), (63.5, -1), (1.0, -6), (0.0, None)])
def test_the_fitting_exponent_of_eight_signed_bits(magnitude, exponent):
    assert fitting_exponent(magnitude, 127) == exponent


def test_mse_clips_an_outlier_that_max_keeps():
    values = np.concatenate([np.random.default_rng(0).normal(size=20000), [40.0]])
    assert choose_exponent(values, -8, 7, "max") == 3
    assert choose_exponent(values, -8, 7, "percentile") == -1
    chosen = choose_exponent(values, -8, 7, "mse")
    assert chosen == -1
    errors = {e: squared_error(values, e, -8, 7) for e in range(-3, 4)}
    assert errors[chosen] == min(errors.values())


def test_a_lost_sign_costs_the_other_operand_of_an_mf_product():
    values = np.array([0.5, -0.25, 8.0])
    partner = Partner(power=4.0, sign_zero=0)
    assert squared_error(values, 0, -8, 7) == pytest.approx((0.25 + 0.0625 + 1.0) / 3)
    assert squared_error(values, 0, -8, 7, partner) == pytest.approx((0.25 + 0.0625 + 1.0) / 3 + 4.0 * (1 + 1) / 3)
    positive = Partner(power=4.0, sign_zero=1)
    assert squared_error(values, 0, -8, 7, positive) == pytest.approx((0.25 + 0.0625 + 1.0) / 3 + 4.0 * (0 + 4) / 3)
    spread = np.random.default_rng(1).laplace(size=5000)
    assert choose_exponent(spread, -8, 7, partner=Partner(9.0, 0)) < choose_exponent(spread, -8, 7)


def test_no_channel_of_weights_gets_a_scale_far_below_the_others():
    weight = np.array([[0.9, -0.5], [0.0, 0.0], [1e-9, -1e-9], [0.1, 0.05]])
    whole = int(weight_exponents(weight, 8, False, "max"))
    assert whole == -7
    assert weight_exponents(weight, 8, True, "max").tolist() == [-7, whole, whole - 7, -10]


def test_weights_that_are_all_zero_have_a_scale():
    assert int(weight_exponents(np.zeros((2, 3)), 4, False)) == -3
    assert weight_exponents(np.zeros((2, 3)), 4, True).tolist() == [-3, -3]


def test_power_of_two_weights_fill_their_word():
    # 5 is 4 in the log domain (4 * 2^0.5 = 5.66), 6 is 8; in 8 bits the greatest code is 2^6, in 3 bits 2^1.
    weight = np.array([[5.0, -1.0], [0.0, 0.0], [0.2, 6.0], [1e-9, 0.0]])
    assert power_exponents(weight[:1], 8, False) == 2 - 6
    assert power_exponents(weight, 8, False) == 3 - 6
    assert power_exponents(weight, 3, False) == 3 - 1
    # by channel: nothing at all gets the scale of the whole, almost nothing at most 7 octaves less
    assert power_exponents(weight, 8, True).tolist() == [-4, -3, -3, -10]
    assert power_exponents(np.zeros((2, 3)), 8, False) == -7
