"""filterbank: two Loops over the stages of a Fourier transform, gains between them, a rounding to the grid of the result."""

from __future__ import annotations

from mfsim.derived.filterbank import factors, stages
from mfsim.export.integer_bodies.body import CODE, INDEX, SHAPE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.stages import BEFORE, STAGE_INPUTS, floored, stage_arrays, through_stages
from mfsim.program import Node

FACTORS = ("one_t", "one_g", "up", "down", "pass_up", "pass_down")
SHAPES = ("front", "end", "width", "pads")
TEXT = (
    """
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  zeros = Constant<value_ints: ints = [0]>()
  tokens_axis = Constant<value_ints: ints = [2]>()
  features_axis = Constant<value_ints: ints = [3]>()
  passed = Slice(x, zeros, front, tokens_axis)
  patches = Slice(x, front, end, tokens_axis)
  even = Pad(patches, pads)
  first = Constant<value_ints: ints = [1]>()
  step = Constant<value_ints: ints = [2]>()
  evens = Slice(even, zeros, width, features_axis, step)
  odds = Slice(even, first, width, features_axis, step)
  even_rows = Transpose<perm: ints = [0, 1, 3, 2]>(evens)
  odd_rows = Transpose<perm: ints = [0, 1, 3, 2]>(odds)
  rows = Concat<axis: int = -1>(even_rows, odd_rows)
  fine = Mul(rows, one_g)"""
    + BEFORE
    + through_stages("fine", "spectrum", "_there")
    + """
  head_shape = Constant<value_ints: ints = [0, 1, -1]>()
  of_head = Reshape(gains, head_shape)
  of_both = Concat<axis: int = -1>(of_head, of_head)
  weighted = Mul(spectrum, of_both)
  half_b = Div(one_b, two)"""
    + floored("weighted", "gained", "one_b", "half_b")
    + """
  re, im = Split<axis: int = -1, num_outputs: int = 2>(gained)
  exchanged = Concat<axis: int = -1>(im, re)"""
    + through_stages("exchanged", "filtered", "_back")
    + """
  scaled_up = Mul(filtered, up)
  half = Div(down, two)"""
    + floored("scaled_up", "results", "down", "half")
    + """
  y_im, y_re = Split<axis: int = -1, num_outputs: int = 2>(results)
  y_evens = Transpose<perm: ints = [0, 1, 3, 2]>(y_re)
  y_odds = Transpose<perm: ints = [0, 1, 3, 2]>(y_im)
  y_apart = Concat<axis: int = -1>(y_evens, y_odds)
  image = Gather<axis: int = -1>(y_apart, order)
  passed_up = Mul(passed, pass_up)
  pass_half = Div(pass_down, two)"""
    + floored("passed_up", "moved", "pass_down", "pass_half")
    + """
  y = Concat<axis: int = 2>(moved, image)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table, gains = inputs
    attributes, bits, grid = attributes_of(node), -table.scale.exponents[0], gains.shape[1]
    features, width = x.shape[3], x.shape[3] + x.shape[3] % 2
    numbers = factors(grid, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **stage_arrays(*stages(grid, bits)),
        **dict(zip(FACTORS, numbers, strict=True)),
        "one_b": 1 << attributes["gain_places"],
        "front": [attributes["passing"]],
        "end": [x.shape[2]],
        "width": [width],
        "pads": [*[0] * 7, features % 2],
        "order": [k // 2 + k % 2 * (width // 2) for k in range(features)],
    }


def _bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 2 + max(word.bits for word in node.words.values())


BODY = IntegerBody(
    text=TEXT,
    extra={**STAGE_INPUTS, **dict.fromkeys((*FACTORS, "one_b"), CODE), **dict.fromkeys(SHAPES, SHAPE), "order": INDEX},
    derived=derived,
    needs_bits=_bits,
)
