"""dft_magnitude: a Loop over the stages of the transform, which gather and add, then integer roots bit by bit."""

from __future__ import annotations

import numpy as np

from mfsim.derived.dft import bins, factors, stages
from mfsim.export.integer_bodies.body import CODE, INDEX, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.norms import root_text
from mfsim.program import Node

FACTORS = ("one_t", "one_g", "power_up", "power_down", "end_factor", "end_up", "end_down")
TEXT = (
    """
  fine = Mul(x, one_g)
  start64 = Constant<value_int: int = 1>()
  go = Cast<to: int = 9>(start64)
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  one = CastLike(start64, x)
  half_t = Div(one_t, two)
  stages = Shape<end: int = 1>(kept_places)
  count = Squeeze(stages)
  v = Loop(count, go, fine) <
    body = stage (int64 step, bool go_on, u) => (goes_on, w) {
      goes_on = Identity(go_on)
      kept_place = Gather<axis: int = 0>(kept_places, step)
      real_place = Gather<axis: int = 0>(real_places, step)
      other_place = Gather<axis: int = 0>(other_places, step)
      keep = Gather<axis: int = 0>(keeps, step)
      turn = Gather<axis: int = 0>(turns, step)
      of_real = Gather<axis: int = 0>(real_cosines, step)
      of_other = Gather<axis: int = 0>(other_cosines, step)
      kept = Gather<axis: int = -1>(u, kept_place)
      real = Gather<axis: int = -1>(u, real_place)
      other = Gather<axis: int = -1>(u, other_place)
      real_part = Mul(real, of_real)
      other_part = Mul(other, of_other)
      product = Add(real_part, other_part)
      raised = Add(product, half_t)
      rest = Mod(raised, one_t)
      whole = Sub(raised, rest)
      turned = Div(whole, one_t)
      first = Mul(kept, keep)
      second = Mul(turned, turn)
      w = Add(first, second)
    }
  >
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
  is_end = Cast<to: int = 9>(ends)
  y = Where(is_end, end_rounded, magnitude)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits = attributes_of(node), -table.scale.exponents[0]
    n = x.shape[-1]
    places, weights = (np.array(stated) for stated in stages(n, bits))
    numbers = factors(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **dict(zip(("kept_places", "real_places", "other_places"), places.transpose(1, 0, 2), strict=True)),
        **dict(zip(("keeps", "turns", "real_cosines", "other_cosines"), weights.transpose(1, 0, 2), strict=True)),
        **dict(zip(("re_place", "im_place", "ends"), np.array(bins(n)), strict=True)),
        **dict(zip(FACTORS, numbers, strict=True)),
    }


def _int64(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 64  # the square of a root of 31 bits, tried bit by bit


BODY = IntegerBody(
    text=TEXT,
    extra={
        **dict.fromkeys(("kept_places", "real_places", "other_places"), INDEX),
        **dict.fromkeys(("keeps", "turns", "real_cosines", "other_cosines"), CODE),
        **dict.fromkeys(("re_place", "im_place"), INDEX),
        "ends": CODE,
        **dict.fromkeys(FACTORS, CODE),
    },
    derived=derived,
    needs_bits=_int64,
)
