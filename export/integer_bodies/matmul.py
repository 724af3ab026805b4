"""matmul: MatMul and the bias."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, IntegerBody, Tensors
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"bias": [0]}


BODY = IntegerBody(
    text="""
  sums = MatMul(x, w)
  y = Add(sums, bias)
""",
    derived=derived,
)
