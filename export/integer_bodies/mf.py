"""Shared by the MF products: signs and operands of both sides, and the joined sum.

sum sign(w) x' + sum sign(x) w' with x' = x or |x|, on the finer grid: two MatMul (or Mul) on codes, a
Mul by the powers of two `gain_x` and `gain_w`, and Add. The product serves both forms, both signs of
zero and every grid: on the grid `aligned` too the powers of two may stand behind the sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mfsim.export.integer_bodies.body import CODE, Arrays, Tensors, bits_of, channelwise, greatest_sum

MF_EXTRA = {"sign_zero": CODE, "magnitude": CODE, "gain_x": CODE, "gain_w": CODE}
"""The sign of 0, 1 for the form `abs`, and the powers of two of both parts."""

CONSTANTS_TEXT = """
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  takes_magnitude = Greater(magnitude, zero)
"""

JOIN_TEXT = """
  on_grid_x = Mul(part_x, gain_x)
  on_grid_w = Mul(part_w, gain_w)
  joined = Add(on_grid_x, on_grid_w)
"""
"""From `part_x` and `part_w` to `joined`."""


def operand_text(source: str, name: str) -> str:
    """Return statements from the codes `source` to `sign_<name>` and `operand_<name>`."""
    return f"""
  plain_sign_{name} = Sign({source})
  is_zero_{name} = Equal({source}, zero)
  sign_{name} = Where(is_zero_{name}, sign_zero, plain_sign_{name})
  size_{name} = Abs({source})
  operand_{name} = Where(takes_magnitude, size_{name}, {source})
"""


def mf_inputs(attributes: Mapping[str, Any], channel_axis: int, ndim: int) -> Arrays:
    """Return the derived inputs of an MF product whose output has its channels on `channel_axis` of `ndim`."""
    return {
        "sign_zero": attributes["sign_zero"],
        "magnitude": int(attributes["form"] == "abs"),
        "gain_x": channelwise([1 << s for s in attributes["shift_x"]], channel_axis, ndim),
        "gain_w": channelwise([1 << s for s in attributes["shift_w"]], channel_axis, ndim),
    }


def mf_bits(attributes: Mapping[str, Any], inputs: Tensors, axes: tuple[int, ...]) -> int:
    """Return the bits that hold both parts, shifted, and their sum, for terms that are summed along `axes` of w."""
    x, w, *bias = inputs
    length = math.prod(w.shape[axis] for axis in axes)
    part_x = length * x.range.bound << max(attributes["shift_x"])
    part_w = greatest_sum(w, axes) << max(attributes["shift_w"])
    bits = bits_of(part_x + part_w + sum(b.range.bound for b in bias))
    return min(bits, 64)  # int64 wraps around modulo 2**64, and the joined sum is proved to fit
