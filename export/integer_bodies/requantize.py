"""requantize: floor division by 2**k, a round-up bit, then the fit into the word.

With the remainder r = Mod(x, 2**k) every rounding rule is r >= threshold, where

    threshold = base + odd * (the floored code is odd) + negative * (x < 0)

so the rule lies in three derived numbers. Nothing is added before the division: no intermediate is
wider than the input. A left shift multiplies by `gain` first; then r is 0 and base is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of, channelwise
from mfsim.export.integer_bodies.fitting import FIT_EXTRA, FIT_TEXT, fit_inputs
from mfsim.program import Node

TEXT = """
  scaled = Mul(x, gain)
  rest = Mod(scaled, divisor)
  whole = Sub(scaled, rest)
  floored = Div(whole, divisor)
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  odd_bit = Mod(floored, two)
  odd_part = Mul(odd_bit, odd)
  is_negative = Less(x, zero)
  negative_bit = CastLike(is_negative, x)
  negative_part = Mul(negative_bit, negative)
  threshold_odd = Add(base, odd_part)
  threshold = Add(threshold_odd, negative_part)
  rounds_up = GreaterOrEqual(rest, threshold)
  up = CastLike(rounds_up, x)
  wide = Add(floored, up)
"""


def thresholds(divisor: int, rounding: str) -> tuple[int, int, int]:
    """Return (base, odd, negative) for a remainder of 0..divisor - 1."""
    if divisor == 1:
        return 1, 0, 0
    half = divisor // 2
    return {
        "half_even": (half + 1, -1, 0),
        "half_up": (half, 0, 0),
        "half_away": (half, 0, 1),
        "floor": (divisor, 0, 0),
        "ceil": (1, 0, 0),
        "toward_zero": (divisor, 0, 1 - divisor),
    }[rounding]


def divisors(attributes: Mapping[str, Any]) -> list[int]:
    """Return the power of two that each channel is divided by."""
    return [1 << max(s, 0) for s in attributes["shift"]]


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    attributes, ndim, rounded = attributes_of(node), len(inputs[0].shape), node.words["rounded"]
    rules = [thresholds(d, attributes["rounding"]) for d in divisors(attributes)]

    def each(values: Sequence[int]) -> np.ndarray:
        return channelwise(values, attributes["axis"], ndim)

    return {
        "gain": each([1 << max(-s, 0) for s in attributes["shift"]]),
        "divisor": each(divisors(attributes)),
        "base": each([r[0] for r in rules]),
        "odd": each([r[1] for r in rules]),
        "negative": each([r[2] for r in rules]),
        **fit_inputs(attributes, rounded.lo, rounded.hi),
    }


BODY = IntegerBody(
    text=TEXT + FIT_TEXT,
    extra={"gain": CODE, "divisor": CODE, "base": CODE, "odd": CODE, "negative": CODE, **FIT_EXTRA},
    derived=derived,
)
