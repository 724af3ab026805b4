"""sign: y = -1, 0 or +1 on the scale 2^0; `sign_zero` is the sign of the code 0.

With `sign_zero` 1 it is the sign bit of the hardware, and the result has two values only.
"""

from __future__ import annotations

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, result, rows, size
from mfsim.program import Tensor


def _sign(code: int, zero: int) -> int:
    return (code > 0) - (code < 0) if code else zero


def infer(tensors, attributes):
    (x,) = tensors
    zero = attributes["sign_zero"]
    range_ = x.range.map(lambda lo, hi: (_sign(lo, zero), _sign(hi, zero)))
    return Inference((result(x.shape, range_, Scale.of(0), "sign"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x > 0, 1, np.where(x < 0, -1, attributes["sign_zero"])).astype(object)]


def count(node, inputs, outputs):
    return rows(node, ("sign", (inputs[0].format.bits,), size(inputs[0].shape)))


def cases():
    for zero in (0, 1):
        attributes = {"sign_zero": zero}
        for bits in (1, 2, 8):
            x = activation("x", (1,), Format(bits), Scale.of(-3))
            yield Case(f"s{bits}-zero{zero}", (x,), attributes, exhaustive=True)
        yield Case(f"u4-zero{zero}", (activation("x", (1,), Format(4, False)),), attributes, exhaustive=True)
        for lo, hi in ((-9, -3), (4, 7), (-8, 0), (0, 0)):
            x = Tensor("x", (1, 1), Format(5), Scale(), Range.of(lo, hi))
            yield Case(f"{lo}..{hi}-zero{zero}", (x,), attributes, exhaustive=True)
        x = Tensor("x", (1, 3, 2), Format(63), Scale((-3, -4, 0), 1), Range((-(2**62), -5, 2), (-1, 2**60, 3), 1))
        yield Case(f"per-channel-zero{zero}", (x,), attributes)


OP = Op(
    name="sign",
    summary="sign as -1, 0 or +1",
    attributes=(Attribute("sign_zero", "int", "sign of the code 0: 0, or 1 for a hardware sign bit", 0, (0, 1)),),
    inputs=("x",),
    primitives=frozenset({"sign"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
