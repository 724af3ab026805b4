"""sum_pool2d: the sum of each window, or its mean.

    y[c, r, s] = sum_{i, j} x[c, r*stride + i - pad, ...],   padding is code 0

With `mean` 1 the same codes lie on a grid that is finer by the area rows * columns, padding
included, which has to be a power of two: no operation and no rounding. A window of area a takes
a - 1 additions; zeros of the padding are executed like all other operands, as in a convolution, so
that every output costs the same. Channels do not mix, so each may have its own scale.
"""

from __future__ import annotations

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.traits import Signature, Trait
from mfsim.ops.windows import KERNEL, PADS, STRIDES, counted_taps, plane_shape, tap_planes, taps_inside


def _mean_exponent(kernel) -> int:
    """Return -log2 of the area of `kernel`."""
    area = int(kernel[0]) * int(kernel[1])
    if area & (area - 1):
        raise FormatError(
            f"`mean` 1 of op `sum_pool2d` needs an area that is a power of two, not {area} = {kernel[0]} x {kernel[1]}; "
            "choose another kernel, or take the sum with `mean` 0"
        )
    return 1 - area.bit_length()


def _infer(tensors, attributes):
    (x,) = tensors
    plane = plane_shape("sum_pool2d", x, attributes["kernel"], attributes)
    insides = taps_inside("sum_pool2d", x, plane, attributes)
    if x.scale.axis not in (None, 1):
        raise FormatError(
            f"x of op `sum_pool2d` must have one scale in each channel, not one along axis {x.scale.axis}"
        )
    least, most = min(insides[0]) * min(insides[1]), max(insides[0]) * max(insides[1])
    bounds = x.range if x.range.axis == 1 else x.range.merged()
    total = bounds.map(lambda lo, hi: (min(least * lo, most * lo), max(least * hi, most * hi)))
    scale = x.scale.moved(_mean_exponent(attributes["kernel"])) if attributes["mean"] else x.scale
    acc = Format.of_range(min(0, most * x.range.low), max(0, most * x.range.high), "the accumulator")
    y = result((*x.shape[:2], *plane), total, scale, "the result of sum_pool2d")
    return Inference((y,), {"acc": acc}, tight=x.range.axis in (None, 1))


def _reference(inputs, attributes):
    (x,) = inputs
    return [sum(plane for _, plane in tap_planes(x, attributes["kernel"], attributes, 0))]


def _count(node, inputs, outputs, taps="executed"):
    (x,), (y,) = inputs, outputs
    codes, windows = counted_taps(x, y, node.attributes["kernel"], node.attributes, taps)
    return rows(node, ("addsub", (node.words["acc"].bits, x.format.bits), y.shape[1] * (codes - windows)))


OP = Op(
    name="sum_pool2d",
    summary="sum or mean of each window",
    attributes=(
        KERNEL,
        STRIDES,
        PADS,
        Attribute("mean", "int", "1 to divide the scale by the area, a power of two", choices=(0, 1)),
    ),
    inputs=("x",),
    traits=frozenset({Trait.KEEPS_GRID, Trait.SUM_POOL}),
    signature=Signature("SumPool", attributes=("kernel_shape", "strides", "pads")),
    primitives=frozenset({"addsub"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
    held={"plain.total": "acc"},
)
