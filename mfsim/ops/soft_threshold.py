"""soft_threshold: y = sign(x) * max(|x| - t, 0), t >= 0 one code or one for each index of `axis`.

The device takes the magnitude, subtracts t, compares and selects, and gives the result the sign of
x back by a conditional negation. y is monotone in x, so the ends of the range are those of x mapped.

Source: Donoho, "De-noising by soft-thresholding", IEEE Trans. Inf. Theory 41(3), 1995.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, constant, result, rows, size
from mfsim.program import Tensor


def _shrunk(code: int, threshold: int) -> int:
    magnitude = max(abs(code) - threshold, 0)
    return -magnitude if code < 0 else magnitude


def _check(x, t, axis) -> None:
    if not t.is_constant or t.range.low < 0:
        raise FormatError("the threshold of op `soft_threshold` must be a constant of codes that are at least 0")
    if axis >= 0 and not 0 < axis < len(x.shape):
        raise ShapeError(f"`axis` of op `soft_threshold` must be -1 or in 1..{len(x.shape) - 1}, not {axis}")
    if t.shape != (1,) and (axis < 0 or t.shape != (x.shape[axis],)):
        wanted = "(1,)" if axis < 0 else f"(1,) or ({x.shape[axis]},)"
        raise ShapeError(f"the threshold of op `soft_threshold` must have the shape {wanted}, not {t.shape}")
    on_axis = t.scale.on(axis)
    if on_axis != x.scale:
        raise FormatError(f"the threshold of op `soft_threshold` must lie on the scale of x, {x.scale}, not {t.scale}")


def infer(tensors, attributes):
    x, t = tensors
    axis = attributes["axis"]
    _check(x, t, axis)
    thresholds = [int(v) for v in t.codes]
    if len(thresholds) == 1:
        out_axis, los, his = x.range.axis, x.range.lo, x.range.hi
        thresholds = thresholds * len(los)
    else:
        out_axis = axis
        los, his = x.range.along(axis, x.shape[axis])
    range_ = Range(
        tuple(_shrunk(v, limit) for v, limit in zip(los, thresholds, strict=True)),
        tuple(_shrunk(v, limit) for v, limit in zip(his, thresholds, strict=True)),
        out_axis,
    )
    words = {
        "magnitude": Format.of_range(0, x.range.bound, "the magnitude"),
        "difference": Format.of_range(-max(thresholds), x.range.bound, "the magnitude less the threshold"),
    }
    return Inference((result(x.shape, range_, x.scale, "soft_threshold"),), words, tight=True)


def reference(inputs, attributes):
    x, t = inputs
    view = [1] * x.ndim
    if len(t) > 1:
        view[attributes["axis"]] = len(t)
    limit = t.reshape(view)
    return [np.where(x > limit, x - limit, np.where(x < -limit, x + limit, 0)).astype(object)]


def count(node, inputs, outputs):
    x, t = inputs
    n = size(x.shape)
    magnitude, difference = node.words["magnitude"].bits, node.words["difference"].bits
    return rows(
        node,
        ("abs", (x.format.bits,), n),
        ("addsub", (magnitude, t.format.bits), n),
        ("cmp", (t.format.bits, magnitude), n),
        ("select", (difference,), n),
        ("neg", (outputs[0].format.bits,), n),
    )


def cases():
    scale = Scale.of(-4)
    for threshold in (0, 1, 5, 127, 128, 200):
        for word in (Format(8), Format(8, False)):
            x = activation("x", (1,), word, scale)
            yield Case(f"{word}-t{threshold}", (x, constant("t", [threshold], None, scale)), exhaustive=True)
    for lo, hi in ((-9, -3), (4, 7), (-8, 0)):
        x = Tensor("x", (1, 1), Format(5), scale, Range.of(lo, hi))
        yield Case(f"{lo}..{hi}", (x, constant("t", [4], None, scale)), exhaustive=True)
    t = constant("t", [3, 0, 40], Format(6, False), scale)
    at = tuple((np.repeat([[3 + k], [-k], [40 + k]], 2, axis=1) * s,) for k in (-1, 0, 1) for s in (1, -1))
    yield Case("per-channel", (activation("x", (3, 2), Format(8), scale), t), {"axis": 1}, extra=at)
    x = Tensor("x", (1, 2, 3), Format(8), scale, Range((-100, -2), (-50, 9), 1))
    yield Case("range-on-another-axis", (x, t), {"axis": 2})
    scales = (-3, -5, -4)
    t = constant("t", [2**53 + 1, 2**20, 2**54], None, Scale(scales, 0))
    at = tuple((np.array([2**53 + k, -(2**20) - k, 2**54 - k]),) for k in (-1, 0, 1, 2))
    x = activation("x", (3,), Format(62), Scale(scales, 1))
    yield Case("per-channel-scale-past-2**53", (x, t), {"axis": 1}, extra=at)


OP = Op(
    name="soft_threshold",
    summary="sign(x) * max(|x| - t, 0)",
    attributes=(Attribute("axis", "int", "channel axis of the thresholds, or -1", -1),),
    inputs=("x", "t"),
    primitives=frozenset({"abs", "addsub", "cmp", "select", "neg"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
)
