"""matmul: MatMul and the bias."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody, greatest_sum, sum_bits


def product_bits(inputs, axes: tuple[int, ...]) -> int:
    """Return the bits of every partial sum of products of x with w, summed along `axes` of w, bias included."""
    x, w, *bias = inputs
    return sum_bits(x.range.bound * greatest_sum(w, axes) + sum(b.range.bound for b in bias))


def derived(node, inputs, outputs):
    return {"bias": [0]}


def needs_bits(node, inputs, outputs):
    return product_bits(inputs, (-2,))


BODY = IntegerBody(
    text="""
  sums = MatMul(x, w)
  y = Add(sums, bias)
""",
    derived=derived,
    needs_bits=needs_bits,
)
