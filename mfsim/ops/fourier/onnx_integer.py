"""Bodies of the fixed-point Fourier and cosine transforms in integer.onnx, as ONNX text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.ir.program import Node
from mfsim.ops.fourier.dct_tables import factors as dct_factors
from mfsim.ops.fourier.dct_tables import stages as dct_stages
from mfsim.ops.fourier.dft_tables import bins, estimate_factors
from mfsim.ops.fourier.dft_tables import factors as dft_factors
from mfsim.ops.fourier.dft_tables import stages as dft_stages
from mfsim.ops.fourier.filterbank_tables import factors as filterbank_factors
from mfsim.ops.fourier.filterbank_tables import stages as filterbank_stages
from mfsim.ops.integer_body import CODE, INDEX, SHAPE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.ops.onnx_text import root_text

# The stages of a fixed-point transform: a Loop, each turn of which gathers and adds. Definitions: mfsim/ops/fourier/dft_tables.py, dct.py.

PLACES = ("kept_places", "met_places", "other_places")

WEIGHTS = ("keeps", "turns", "met_weights", "other_weights")

STAGE_INPUTS = {**dict.fromkeys(PLACES, INDEX), **dict.fromkeys(WEIGHTS, CODE)}
"""Names and kinds of the derived inputs that `STAGES` reads besides `one_t` = 2**T and `one_g` = 2**G."""

BEFORE = """
  go64 = Constant<value_int: int = 1>()
  go = Equal(go64, go64)
  half_t = Div(one_t, two)
  stages = Shape<end: int = 1>(kept_places)
  count = Squeeze(stages)
"""


def _through_stages(start: str, end: str, mark: str = "") -> str:
    """Return the text from codes `start` to `end`, the codes behind the last stage.

    `mark` ends the names within, where one body goes through the stages twice. What `BEFORE` makes must be there.
    """
    rows = ("kept_place", "met_place", "other_place", "keep", "turn", "met_weight", "other_weight")
    taken = "".join(f"\n      {row}{mark} = Gather<axis: int = 0>({row}s, step{mark})" for row in rows)
    return f"""
  {end} = Loop(count, go, {start}) <
    body = stage{mark} (int64 step{mark}, bool go_on{mark}, u{mark}) => (goes_on{mark}, w{mark}) {{
      goes_on{mark} = Identity(go_on{mark}){taken}
      kept{mark} = Gather<axis: int = -1>(u{mark}, kept_place{mark})
      met{mark} = Gather<axis: int = -1>(u{mark}, met_place{mark})
      other{mark} = Gather<axis: int = -1>(u{mark}, other_place{mark})
      met_part{mark} = Mul(met{mark}, met_weight{mark})
      other_part{mark} = Mul(other{mark}, other_weight{mark})
      product{mark} = Add(met_part{mark}, other_part{mark})
      raised{mark} = Add(product{mark}, half_t)
      rest{mark} = Mod(raised{mark}, one_t)
      whole{mark} = Sub(raised{mark}, rest{mark})
      turned{mark} = Div(whole{mark}, one_t)
      first{mark} = Mul(kept{mark}, keep{mark})
      second{mark} = Mul(turned{mark}, turn{mark})
      w{mark} = Add(first{mark}, second{mark})
    }}
  >
"""


def _floored(start: str, end: str, divisor: str, half: str) -> str:
    """Return the text from `start` to `end` = (start + half) / divisor, floored, divisor > 0; names begin with `end`."""
    return f"""
  {end}_raised = Add({start}, {half})
  {end}_rest = Mod({end}_raised, {divisor})
  {end}_whole = Sub({end}_raised, {end}_rest)
  {end} = Div({end}_whole, {divisor})
"""


STAGES = BEFORE + "  fine = Mul(x, one_g)\n" + _through_stages("fine", "v")
"""From x to v, the codes behind the last stage; `two` must be there."""


def _stage_arrays(places: Sequence[object], weights: Sequence[object]) -> Arrays:
    """Return the derived inputs for places [stages, 3, n] and weights [stages, 4, n]."""
    by_row = (np.array(stated, dtype=np.int64).transpose(1, 0, 2) for stated in (places, weights))
    return {
        name: rows
        for names, all_ in zip((PLACES, WEIGHTS), by_row, strict=True)
        for name, rows in zip(names, all_, strict=True)
    }


# dct: a Loop over the stages of the transform, then a rounding to the grid of the result.

DCT_FACTORS = ("one_t", "one_g", "up", "down")

DCT_TEXT = (
    """
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)"""
    + STAGES
    + """
  result = Mul(v, up)
  half = Div(down, two)
"""
    + _floored("result", "y", "down", "half")
)


def _dct_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits = attributes_of(node), -table.scale.exponents[0]
    numbers = dct_factors(x.shape[-1], attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {**_stage_arrays(*dct_stages(x.shape[-1], bits)), **dict(zip(DCT_FACTORS, numbers, strict=True))}


def _dct_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 2 + max(node.words["product"].bits, node.words["raised"].bits)


DCT_INTEGER = IntegerBody(
    text=DCT_TEXT, extra={**STAGE_INPUTS, **dict.fromkeys(DCT_FACTORS, CODE)}, derived=_dct_inputs, needs_bits=_dct_bits
)

# dft_magnitude: a Loop over the stages of the transform, which gather and add, then integer roots bit by bit.

DFT_MAGNITUDE_FACTORS = ("one_t", "one_g", "power_up", "power_down", "end_factor", "end_up", "end_down")

DFT_MAGNITUDE_TEXT = (
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


def _dft_magnitude_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits = attributes_of(node), -table.scale.exponents[0]
    n = x.shape[-1]
    numbers = dft_factors(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **_stage_arrays(*dft_stages(n, bits)),
        **dict(zip(("re_place", "im_place", "ends"), np.array(bins(n)), strict=True)),
        **dict(zip(DFT_MAGNITUDE_FACTORS, numbers, strict=True)),
    }


def _int64(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 64  # the square of a root of 31 bits, tried bit by bit


DFT_MAGNITUDE_INTEGER = IntegerBody(
    text=DFT_MAGNITUDE_TEXT,
    extra={
        **STAGE_INPUTS,
        **dict.fromkeys(("re_place", "im_place"), INDEX),
        "ends": CODE,
        **dict.fromkeys(DFT_MAGNITUDE_FACTORS, CODE),
    },
    derived=_dft_magnitude_inputs,
    needs_bits=_int64,
)

# dft_alpha_beta: a Loop over the stages of the transform, then a maximum of two sums for each bin.

DFT_ALPHA_BETA_FACTORS = ("one_t", "one_g", "factor", "up", "down")

DFT_ALPHA_BETA_TEXT = (
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


def _dft_alpha_beta_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits, n = attributes_of(node), -table.scale.exponents[0], x.shape[-1]
    numbers = estimate_factors(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **_stage_arrays(*dft_stages(n, bits)),
        **dict(zip(("re_place", "im_place", "ends"), np.array(bins(n)), strict=True)),
        **dict(zip(DFT_ALPHA_BETA_FACTORS, numbers, strict=True)),
    }


def _dft_alpha_beta_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 2 + max(word.bits for word in node.words.values())


DFT_ALPHA_BETA_INTEGER = IntegerBody(
    text=DFT_ALPHA_BETA_TEXT,
    extra={
        **STAGE_INPUTS,
        **dict.fromkeys(("re_place", "im_place"), INDEX),
        "ends": CODE,
        **dict.fromkeys(DFT_ALPHA_BETA_FACTORS, CODE),
    },
    derived=_dft_alpha_beta_inputs,
    needs_bits=_dft_alpha_beta_bits,
)

# filterbank: two Loops over the stages of a Fourier transform, gains between them, a rounding to the grid of the result.

FILTERBANK_FACTORS = ("one_t", "one_g", "up", "down", "pass_up", "pass_down")

SHAPES = ("front", "end", "width", "pads")

FILTERBANK_TEXT = (
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
    + _through_stages("fine", "spectrum", "_there")
    + """
  head_shape = Constant<value_ints: ints = [0, 1, -1]>()
  of_head = Reshape(gains, head_shape)
  of_both = Concat<axis: int = -1>(of_head, of_head)
  weighted = Mul(spectrum, of_both)
  half_b = Div(one_b, two)"""
    + _floored("weighted", "gained", "one_b", "half_b")
    + """
  re, im = Split<axis: int = -1, num_outputs: int = 2>(gained)
  exchanged = Concat<axis: int = -1>(im, re)"""
    + _through_stages("exchanged", "filtered", "_back")
    + """
  scaled_up = Mul(filtered, up)
  half = Div(down, two)"""
    + _floored("scaled_up", "results", "down", "half")
    + """
  y_im, y_re = Split<axis: int = -1, num_outputs: int = 2>(results)
  y_evens = Transpose<perm: ints = [0, 1, 3, 2]>(y_re)
  y_odds = Transpose<perm: ints = [0, 1, 3, 2]>(y_im)
  y_apart = Concat<axis: int = -1>(y_evens, y_odds)
  image = Gather<axis: int = -1>(y_apart, order)
  passed_up = Mul(passed, pass_up)
  pass_half = Div(pass_down, two)"""
    + _floored("passed_up", "moved", "pass_down", "pass_half")
    + """
  y = Concat<axis: int = 2>(moved, image)
"""
)


def _filterbank_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table, gains = inputs
    attributes, bits, grid = attributes_of(node), -table.scale.exponents[0], gains.shape[1]
    features, width = x.shape[3], x.shape[3] + x.shape[3] % 2
    numbers = filterbank_factors(grid, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {
        **_stage_arrays(*filterbank_stages(grid, bits)),
        **dict(zip(FILTERBANK_FACTORS, numbers, strict=True)),
        "one_b": 1 << attributes["gain_places"],
        "front": [attributes["passing"]],
        "end": [x.shape[2]],
        "width": [width],
        "pads": [*[0] * 7, features % 2],
        "order": [k // 2 + k % 2 * (width // 2) for k in range(features)],
    }


def _filterbank_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 2 + max(word.bits for word in node.words.values())


FILTERBANK_INTEGER = IntegerBody(
    text=FILTERBANK_TEXT,
    extra={
        **STAGE_INPUTS,
        **dict.fromkeys((*FILTERBANK_FACTORS, "one_b"), CODE),
        **dict.fromkeys(SHAPES, SHAPE),
        "order": INDEX,
    },
    derived=_filterbank_inputs,
    needs_bits=_filterbank_bits,
)

INTEGER_BODIES = {
    "dct": DCT_INTEGER,
    "dft_magnitude": DFT_MAGNITUDE_INTEGER,
    "dft_alpha_beta": DFT_ALPHA_BETA_INTEGER,
    "filterbank": FILTERBANK_INTEGER,
}
"""By op, its body in integer.onnx."""
