"""gram: one MatMul with the transposed rows, which the device and the counts know as one triangle of it."""

from __future__ import annotations

import math

from mfsim.export.integer_bodies.body import SHAPE, Arrays, IntegerBody, Tensors, target
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,) = inputs
    return {"matrices_shape": [0, math.prod(x.shape[1:-2]), *x.shape[-2:]], "shape": target(outputs[0].shape)}


BODY = IntegerBody(
    text="""
  matrices = Reshape(x, matrices_shape)
  turned = Transpose<perm: ints = [0, 1, 3, 2]>(matrices)
  products = MatMul(matrices, turned)
  y = Reshape(products, shape)
""",
    extra={"matrices_shape": SHAPE, "shape": SHAPE},
    derived=derived,
)
