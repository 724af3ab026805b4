"""pad: the code `value` around each sample; `pads` as in ONNX, all begins and then all ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.layout import laid_out
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, no_operations
from mfsim.program import Tensor


def _amounts(shape, attributes) -> list[tuple[int, int]]:
    """Return (begin, end) of each axis."""
    pads, rank = attributes["pads"], len(shape)
    if len(pads) != 2 * rank or min(pads) < 0 or pads[0] or pads[rank]:
        raise ShapeError(f"`pads` of op `pad` must be {2 * rank} ints of at least 0, and 0 for the batch, not {pads}")
    return list(zip(pads[:rank], pads[rank:], strict=True))


def _padded_range(range_: Range, amounts: Sequence[tuple[int, int]], value: int) -> Range:
    """Return the range with the new codes: along its axis they stand apart, elsewhere they widen it."""
    if any(any(pair) for axis, pair in enumerate(amounts) if axis != range_.axis):
        range_ = range_.map(lambda lo, hi: (min(lo, value), max(hi, value)))
    if range_.axis is None:
        return range_
    begin, end = ((value,) * n for n in amounts[range_.axis])
    return Range((*begin, *range_.lo, *end), (*begin, *range_.hi, *end), range_.axis)


def infer(tensors, attributes):
    (x,) = tensors
    amounts, value = _amounts(x.shape, attributes), attributes["value"]
    if x.scale.axis is not None and (value or any(amounts[x.scale.axis])):
        raise FormatError(
            f"op `pad` of a scale along axis {x.scale.axis} must have `value` 0 and leave that axis as it is; requantize first"
        )
    shape = [n + begin + end for n, (begin, end) in zip(x.shape, amounts, strict=True)]
    return Inference((laid_out(x, shape, _padded_range(x.range, amounts, value), x.scale, "pad"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    amounts = _amounts(x.shape, attributes)
    out = np.empty([n + begin + end for n, (begin, end) in zip(x.shape, amounts, strict=True)], dtype=object)
    for index in np.ndindex(*out.shape):
        source = tuple(i - begin for i, (begin, _) in zip(index, amounts, strict=True))
        inside = all(0 <= i < n for i, n in zip(source, x.shape, strict=True))
        out[index] = x[source] if inside else attributes["value"]
    return [out]


def cases():
    x = activation("x", (2,), Format(4), Scale.of(-2))
    yield Case("zero", (x,), {"pads": (0, 1, 0, 2)}, exhaustive=True)
    yield Case("inside-the-word", (x,), {"pads": (0, 1, 0, 0), "value": -8}, exhaustive=True)
    yield Case("above-the-word", (x,), {"pads": (0, 0, 0, 1), "value": 8}, exhaustive=True)
    yield Case("below-the-word", (x,), {"pads": (0, 0, 0, 1), "value": -9}, exhaustive=True)
    yield Case("nothing", (x,), {"pads": (0, 0, 0, 0), "value": 99}, exhaustive=True)
    image = Tensor("x", (1, 3, 2, 2), Format(63), Scale((-3, -5, -4), 1), Range((-(2**62), -3, 2), (-9, 3, 2**54), 1))
    yield Case("image", (image,), {"pads": (0, 0, 1, 2, 0, 0, 0, 1)})
    ranged = Tensor("x", (1, 3, 2), Format(8), Scale.of(-2), Range((-100, -3, 20), (-90, 3, 100), 1))
    for value in (0, -7):
        yield Case(f"ranged-axis-{value}", (ranged,), {"pads": (0, 2, 0, 0, 1, 0), "value": value})
        yield Case(f"other-axis-{value}", (ranged,), {"pads": (0, 0, 1, 0, 0, 1), "value": value})
        yield Case(f"both-axes-{value}", (ranged,), {"pads": (0, 1, 1, 0, 1, 1), "value": value})


OP = Op(
    name="pad",
    summary="a constant code around each sample",
    attributes=(
        Attribute("pads", "ints", "begin of each axis, then end of each axis; 0 for the batch"),
        Attribute("value", "int", "the code that is put there", 0),
    ),
    inputs=("x",),
    primitives=frozenset(),
    infer=infer,
    reference=reference,
    count=no_operations,
    cases=cases,
)
