"""dft_alpha_beta: a Loop over the stages of the transform, then a maximum of two sums for each bin."""

from __future__ import annotations

import numpy as np

from mfsim.derived.dft import bins, estimate_factors, stages
from mfsim.export.integer_bodies.body import CODE, INDEX, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.stages import STAGE_INPUTS, STAGES, stage_arrays
from mfsim.program import Node

FACTORS = ("one_t", "one_g", "factor", "up", "down")
TEXT = (
    """
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  one64 = Constant<value_int: int = 1>()
  one = CastLike(one64, x)
  four64 = Constant<value_int: int = 4>()
  four = CastLike(four64, x)
  seven64 = Constant<value_int: int = 7>()
  seven = CastLike(seven64, x)
  eight64 = Constant<value_int: int = 8>()
  eight = CastLike(eight64, x)
"""
    + STAGES
    + """
  re = Gather<axis: int = -1>(v, re_place)
  im = Gather<axis: int = -1>(v, im_place)
  re_size = Abs(re)
  im_all = Abs(im)
  inner = Sub(one, ends)
  im_size = Mul(im_all, inner)
  greater = Max(re_size, im_size)
  smaller = Min(re_size, im_size)
  whole = Mul(greater, eight)
  flat = Add(whole, smaller)
  less = Mul(greater, seven)
  more = Mul(smaller, four)
  steep = Add(less, more)
  estimate = Max(flat, steep)
  end = Mul(estimate, factor)
  scaled_up = Mul(end, up)
  half = Div(down, two)
  end_raised = Add(scaled_up, half)
  y = Div(end_raised, down)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits, n = attributes_of(node), -table.scale.exponents[0], x.shape[-1]
    numbers = estimate_factors(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **stage_arrays(*stages(n, bits)),
        **dict(zip(("re_place", "im_place", "ends"), np.array(bins(n)), strict=True)),
        **dict(zip(FACTORS, numbers, strict=True)),
    }


def _bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 2 + max(word.bits for word in node.words.values())


BODY = IntegerBody(
    text=TEXT,
    extra={
        **STAGE_INPUTS,
        **dict.fromkeys(("re_place", "im_place"), INDEX),
        "ends": CODE,
        **dict.fromkeys(FACTORS, CODE),
    },
    derived=derived,
    needs_bits=_bits,
)
