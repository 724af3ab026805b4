"""soft_threshold: y = sign(x) * max(|x| - t, 0), t >= 0 one code or one for each index of `axis`.

The device takes the magnitude, subtracts t, compares and selects, and gives the result the sign of
x back by a conditional negation. y is monotone in x, so the ends of the range are those of x mapped.

Source: Donoho, "De-noising by soft-thresholding", IEEE Trans. Inf. Theory 41(3), 1995.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.traits import Input, Role, Signature, Trait, X


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


def _infer(tensors, attributes):
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


def _reference(inputs, attributes):
    x, t = inputs
    view = [1] * x.ndim
    if len(t) > 1:
        view[attributes["axis"]] = len(t)
    limit = t.reshape(view)
    return [np.where(x > limit, x - limit, np.where(x < -limit, x + limit, 0)).astype(object)]


def _count(node, inputs, outputs):
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


OP = Op(
    name="soft_threshold",
    summary="sign(x) * max(|x| - t, 0)",
    attributes=(Attribute("axis", "int", "channel axis of the thresholds, or -1", -1),),
    inputs=("x", "t"),
    traits=frozenset({Trait.FUSES_EPILOGUE}),
    roles={"t": Role.THRESHOLD},
    signature=Signature("SoftThreshold", (X, Input("T", Role.THRESHOLD, "threshold"))),
    primitives=frozenset({"abs", "addsub", "cmp", "select", "neg"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    held={"plain.magnitude": "magnitude", "plain.difference": "difference"},
)
