"""dct: a Loop over the stages of the transform, then a rounding to the grid of the result."""

from __future__ import annotations

from mfsim.derived.dct import factors, stages
from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.stages import STAGE_INPUTS, STAGES, floored, stage_arrays
from mfsim.program import Node

FACTORS = ("one_t", "one_g", "up", "down")
TEXT = (
    """
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)"""
    + STAGES
    + """
  result = Mul(v, up)
  half = Div(down, two)
"""
    + floored("result", "y", "down", "half")
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, table = inputs
    attributes, bits = attributes_of(node), -table.scale.exponents[0]
    numbers = factors(x.shape[-1], attributes["guard"], attributes["fraction"], x.scale.exponent, bits)
    return {**stage_arrays(*stages(x.shape[-1], bits)), **dict(zip(FACTORS, numbers, strict=True))}


def _bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 2 + max(node.words["product"].bits, node.words["raised"].bits)


BODY = IntegerBody(text=TEXT, extra={**STAGE_INPUTS, **dict.fromkeys(FACTORS, CODE)}, derived=derived, needs_bits=_bits)
