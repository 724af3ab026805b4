"""Shared by requantize and accumulator: fit a code into a word, saturating or wrapping.

Both rules are one sequence: clamp to `low`..`high`, then keep `bits` bits. For `saturate` the clamp is
to the word and the second step changes nothing; for `wrap` the clamp is to the proved range and
changes nothing. The second step works on the lower bits - 1 bits and on the top bit separately,
because 2**63 is no int64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mfsim.export.integer_bodies.body import CODE, Arrays
from mfsim.formats import Format

FIT_EXTRA = {"low": CODE, "high": CODE, "half": CODE, "top": CODE}
"""Clamps, 2**(bits - 1), and the value of the top bit."""

FIT_TEXT = """
  clipped_low = Max(wide, low)
  clipped = Min(clipped_low, high)
  lower = Mod(clipped, half)
  upper_part = Sub(clipped, lower)
  upper = Div(upper_part, half)
  fit_two64 = Constant<value_int: int = 2>()
  fit_two = CastLike(fit_two64, wide)
  top_bit = Mod(upper, fit_two)
  top_value = Mul(top_bit, top)
  y = Add(lower, top_value)
"""
"""From `wide` to `y`."""


def fit_inputs(attributes: Mapping[str, Any], lo: int, hi: int) -> Arrays:
    """Return the derived inputs for codes in lo..hi before the fit."""
    word = Format(attributes["bits"], bool(attributes["signed"]))
    half = 1 << (word.bits - 1)
    if attributes["overflow"] == "saturate":
        lo, hi = word.lo + (word.signed and attributes.get("narrow", 0)), word.hi
    return {"low": lo, "high": hi, "half": half, "top": -half if word.signed else half}
