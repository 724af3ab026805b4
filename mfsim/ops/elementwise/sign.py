"""sign: y = -1, 0 or +1 on the scale 2^0; `sign_zero` is the sign of the code 0.

With `sign_zero` 1 it is the sign bit of the hardware, and the result has two values only.
"""

from __future__ import annotations

import numpy as np

from mfsim.ir.formats import Scale
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size


def _sign(code: int, zero: int) -> int:
    return (code > 0) - (code < 0) if code else zero


def _infer(tensors, attributes):
    (x,) = tensors
    zero = attributes["sign_zero"]
    range_ = x.range.map(lambda lo, hi: (_sign(lo, zero), _sign(hi, zero)))
    return Inference((result(x.shape, range_, Scale.of(0), "sign"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x > 0, 1, np.where(x < 0, -1, attributes["sign_zero"])).astype(object)]


def _count(node, inputs, outputs):
    return rows(node, ("sign", (inputs[0].format.bits,), size(inputs[0].shape)))


OP = Op(
    name="sign",
    summary="sign as -1, 0 or +1",
    attributes=(Attribute("sign_zero", "int", "sign of the code 0: 0, or 1 for a hardware sign bit", 0, (0, 1)),),
    inputs=("x",),
    primitives=frozenset({"sign"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
)
