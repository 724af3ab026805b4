"""Fixed-point multipliers: the nearest ones, and codes at most 1 from the exact quotient."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfsim import ops
from mfsim.errors import FormatError, MfsimError, RangeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ops.grid.gain import attributes_for
from mfsim.ops.grid.rescale import fixed_point, target_attributes
from mfsim.simulate import simulate

RATIOS = st.fractions(min_value=Fraction(1, 2**20), max_value=2**20).filter(lambda r: r > 0)


@given(ratio=RATIOS, bits=st.integers(2, 31))
def test_no_multiplier_of_as_many_bits_is_nearer(ratio, bits):
    multiplier, shift = fixed_point(ratio, bits) if ratio < 2**bits else (1, 0)
    if ratio >= 2**bits:
        with pytest.raises(RangeError, match="must be less than 2"):
            fixed_point(ratio, bits)
        return
    assert 0 < multiplier <= 2**bits
    assert multiplier % 2 or shift == 0
    error = abs(Fraction(multiplier, 2**shift) - ratio)
    assert error <= ratio / 2**bits


def test_powers_of_two_have_the_multiplier_1():
    assert fixed_point(Fraction(1, 8), 31) == (1, 3)
    assert fixed_point(Fraction(3, 4), 31) == (3, 2)
    assert fixed_point(Fraction(20), 31) == (20, 0)


def rescaled(x_scale, y_scale, low, high, **options):
    builder = ProgramBuilder()
    x = builder.input("x", (1,), Format(16), Scale.of_steps([x_scale]))
    attributes = {"bits": 20} | target_attributes(Scale.of_steps([y_scale])) | options
    program = builder.finish([builder.node("rescale", [x], attributes)])
    codes = np.arange(low, high)[:, None]
    return codes.reshape(-1), simulate(program, codes).output.reshape(-1)


@pytest.mark.parametrize("pair", [(0.0031, 0.0127), (1.0, 3.0), (0.7123, 0.1)])
def test_a_code_differs_by_at_most_1_from_the_exact_one(pair):
    codes, found = rescaled(*pair, -(2**15), 2**15)
    ratio = Fraction(pair[0]) / Fraction(pair[1])
    exact = np.array([round(int(code) * ratio) for code in codes])
    assert np.abs(found - exact).max() <= 1
    assert (found != exact).mean() < 2e-3, "ties of the exact ratio are all that a 31-bit multiplier moves"
    _, coarse = rescaled(*pair, -(2**15), 2**15, multiplier_bits=8)
    assert np.abs(coarse - exact).max() > 1, "the bound does not come by itself"


def test_result_lies_on_the_stated_scale_exactly():
    builder = ProgramBuilder()
    x = builder.input("x", (3,), Format(8), Scale.of_steps([0.1, 0.2, 0.3], 1))
    scale = Scale.of_steps([Fraction(1, 3)])
    y = builder.node("rescale", [x], {"bits": 8, "axis": 1} | target_attributes(scale))
    assert builder.tensors[y].scale == scale


ERRORS = {
    "axis": ({"bits": 8, "axis": 1, "exponents": (0, 0), "numerators": (1, 1), "denominators": (1, 1)}, FormatError),
    "lengths": ({"bits": 8, "exponents": (0,), "numerators": (1, 1), "denominators": (1, 1)}, FormatError),
    "multiplier": (
        {"bits": 8, "exponents": (0,), "numerators": (1,), "denominators": (1,), "multiplier": (3,), "shift": (2,)},
        FormatError,
    ),
    "multiplier_bits": (
        {"bits": 8, "exponents": (0,), "numerators": (1,), "denominators": (1,), "multiplier_bits": 63},
        FormatError,
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_attributes_that_do_not_suit_are_refused(name):
    attributes, error = ERRORS[name]
    builder = ProgramBuilder()
    x = builder.input("x", (3,), Format(8), Scale.of_steps([0.1]))
    with pytest.raises(error):
        builder.node("rescale", [x], attributes)


def test_multiplier_that_is_not_that_of_the_scales():
    builder = ProgramBuilder()
    x = builder.input("x", (3,), Format(8), Scale.of_steps([0.75]))
    given_ = {"bits": 8, "multiplier": (5,), "shift": (2,)} | target_attributes(Scale())
    with pytest.raises(MfsimError, match=r"`multiplier` and `shift` of op `rescale` must be \(\(3,\), \(2,\)\)"):
        builder.node("rescale", [x], given_)


def test_multiplication_is_by_a_fixed_constant_and_only_where_there_is_one():
    builder = ProgramBuilder()
    x = builder.input("x", (2,), Format(8), Scale.of_steps([0.3, 0.5], 1))
    y = builder.node("rescale", [x], {"bits": 8, "axis": 1, "multiplier_bits": 9} | target_attributes(Scale()))
    program = builder.finish([y])
    rows = ops.get("rescale").count(program.nodes[0], [program.tensors[x]], [program.tensors[y]])
    (mul,) = [row for row in rows if row.primitive == "mul"]
    assert (mul.count, mul.multiplied_by, mul.widths) == (1, "fixed", (8, 9))


def test_gain_of_too_long_a_fraction_is_rounded_to_a_double():
    value = Fraction(10**30 + 1, 10**30 * 3)
    attributes = attributes_for([value], -1)
    assert Fraction(attributes["numerators"][0], attributes["denominators"][0]) == Fraction(float(value))


@pytest.mark.parametrize("value", [Fraction(1, 2**70), Fraction(2**70)])
def test_gain_that_no_attribute_holds(value):
    with pytest.raises(FormatError, match=r"a gain must be in 2\^-62..2\^62"):
        attributes_for([value], -1)
