"""matmul: MatMul and the bias."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, IntegerBody, Tensors, greatest_sum, sum_bits
from mfsim.program import Node


def product_bits(inputs: Tensors, axes: tuple[int, ...]) -> int:
    """Return the bits of every partial sum of products of x with w, summed along `axes` of w, bias included."""
    x, w, *bias = inputs
    return sum_bits(x.range.bound * greatest_sum(w, axes) + sum(b.range.bound for b in bias))


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"bias": [0]}


def needs_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return product_bits(inputs, (-2,))


BODY = IntegerBody(
    text="""
  sums = MatMul(x, w)
  y = Add(sums, bias)
""",
    derived=derived,
    needs_bits=needs_bits,
)
