"""dft_magnitude: a Loop over the stages of the transform, which gather and add, then integer roots bit by bit."""

from __future__ import annotations

import numpy as np

from mfsim.derived.dft import bins, factors, stages
from mfsim.export.integer_bodies.body import CODE, INDEX, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.norms import root_text
from mfsim.export.integer_bodies.stages import STAGE_INPUTS, STAGES, stage_arrays
from mfsim.program import Node

FACTORS = ("one_t", "one_g", "power_up", "power_down", "end_factor", "end_up", "end_down")
TEXT = (
    """
  start64 = Constant<value_int: int = 1>()
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  one = CastLike(start64, x)
"""
    + STAGES
    + """
  re = Gather<axis: int = -1>(v, re_place)
  im = Gather<axis: int = -1>(v, im_place)
  re2 = Mul(re, re)
  im2 = Mul(im, im)
  power = Add(re2, im2)
  inner = Sub(one, ends)
  inner_power = Mul(power, inner)
  power_scaled = Mul(inner_power, power_up)
  w = Div(power_scaled, power_down)"""
    + root_text()
    + """
  root_raised = Add(found, one)
  magnitude = Div(root_raised, two)
  size = Abs(re)
  end_product = Mul(size, end_factor)
  end_scaled = Mul(end_product, end_up)
  end_half = Div(end_down, two)
  end_raised = Add(end_scaled, end_half)
  end_rounded = Div(end_raised, end_down)
  no_end64 = Constant<value_int: int = 0>()
  no_end = CastLike(no_end64, ends)
  is_end = Greater(ends, no_end)
  y = Where(is_end, end_rounded, magnitude)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits = attributes_of(node), -table.scale.exponents[0]
    n = x.shape[-1]
    numbers = factors(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **stage_arrays(*stages(n, bits)),
        **dict(zip(("re_place", "im_place", "ends"), np.array(bins(n)), strict=True)),
        **dict(zip(FACTORS, numbers, strict=True)),
    }


def _int64(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 64  # the square of a root of 31 bits, tried bit by bit


BODY = IntegerBody(
    text=TEXT,
    extra={
        **STAGE_INPUTS,
        **dict.fromkeys(("re_place", "im_place"), INDEX),
        "ends": CODE,
        **dict.fromkeys(FACTORS, CODE),
    },
    derived=derived,
    needs_bits=_int64,
)
