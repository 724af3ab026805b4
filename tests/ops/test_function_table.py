"""Tables of functions: every entry is the code nearest to the function, in exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from mfsim.errors import FormatError, ShapeError, UnsupportedOpError
from mfsim.ir.formats import Format
from mfsim.ops.function_table import FUNCTIONS, function_table

REFERENCES = {
    "exp": math.exp,
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "tanh": math.tanh,
}


def test_every_function_has_a_reference():
    assert set(REFERENCES) == set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("gain", [1.0, 0.3])
def test_entries_are_the_nearest_codes(name, gain):
    word, exponent = Format(20), -12
    table = function_table(name, -128, 256, -5, word, exponent, gain)
    assert len(table) == 256
    for code, entry in zip(range(-128, 128), table, strict=True):
        value = REFERENCES[name](gain * code / 32) * 2**12
        # 1e-6 LSB: double precision of the reference, far from any half here.
        assert abs(entry - min(max(value, word.lo), word.hi)) <= 0.5 + 1e-6


def test_exact_halves_go_away_from_zero_and_ends_saturate():
    assert function_table("sigmoid", 0, 1, 0, Format(8), 0) == (1,)
    assert function_table("exp", -1, 9, 0, Format(8, False), 0) == (0, 1, 3, 7, 20, 55, 148, 255, 255)
    assert function_table("silu", -1, 3, 8, Format(4), 0) == (0, 0, 7)


def test_rounding_is_that_of_the_function_and_not_of_a_double():
    """e^x near a half: found with 60 bits behind the point, where doubles have none left."""
    (entry,) = function_table("exp", 1, 1, 0, Format(63), -60)
    e = Fraction(sum(Fraction(1, math.factorial(k)) for k in range(40)))
    assert entry == int(e * 2**60 + Fraction(1, 2))
    assert entry != int(math.e * 2**60)


def test_errors():
    with pytest.raises(UnsupportedOpError, match=r"^`gelo` is not a function with a table; did you mean `gelu`\?$"):
        function_table("gelo", 0, 1, 0, Format(8), 0)
    with pytest.raises(ShapeError, match=r"^`size` of a table must be in 1\.\.65536, not 0$"):
        function_table("exp", 0, 0, 0, Format(8), 0)
    for gain in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(FormatError, match=f"^`gain` must be a positive number, not {gain!r}$"):
            function_table("exp", 0, 1, 0, Format(8), 0, gain)
