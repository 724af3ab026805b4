"""shift: y = x * 2**exponents, by relabelling the grid: the codes stay, nothing is computed.

One exponent, or one for each index of `axis` (a gain of a power of two for each channel).
"""

from __future__ import annotations

from mfsim.errors import FormatError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, no_operations, result
from mfsim.program import Tensor


def infer(tensors, attributes):
    (x,) = tensors
    exponents, axis = attributes["exponents"], attributes["axis"]
    if axis < 0:
        if len(exponents) != 1:
            raise FormatError("`exponents` of op `shift` must be one int when `axis` is -1")
    elif not 0 < axis < len(x.shape) or len(exponents) != x.shape[axis]:
        raise FormatError(f"`exponents` of op `shift` must have one int for each index of axis {axis} of {x.shape}")
    scale = x.scale.moved(exponents, axis if axis >= 0 else None)
    return Inference((result(x.shape, x.range, scale, "shift", x.format),), tight=True)


def reference(inputs, attributes):
    return [inputs[0]]


def cases():
    x = activation("x", (1,), Format(6), Scale.of(-3))
    yield Case("left", (x,), {"exponents": (4,)}, exhaustive=True)
    yield Case("right", (x,), {"exponents": (-7,)}, exhaustive=True)
    per_channel = activation("x", (3, 2), Format(63), Scale((-3, -5, -4), 1))
    yield Case("per-channel", (per_channel,), {"exponents": (1, 3, 0), "axis": 1})
    yield Case("moves-all-channels", (per_channel,), {"exponents": (2,)})
    ranged = Tensor("x", (1, 2, 2), Format(8), Scale(), Range((-3, 0), (2, 9), 2))
    yield Case("per-channel-range", (ranged,), {"exponents": (0, -1), "axis": 1})


OP = Op(
    name="shift",
    summary="multiply by a power of two by relabelling the grid",
    attributes=(
        Attribute("exponents", "ints", "log2 of the gain; one, or one for each index of `axis`"),
        Attribute("axis", "int", "channel axis of `exponents`, or -1", -1),
    ),
    inputs=("x",),
    primitives=frozenset(),
    infer=infer,
    reference=reference,
    count=no_operations,
    cases=cases,
)
