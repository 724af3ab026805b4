"""pad: the code `value` around each sample; `pads` as in ONNX, all begins and then all ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Range
from mfsim.ops.layout.axes import laid_out
from mfsim.ops.op import Attribute, Inference, Op, no_operations
from mfsim.ops.traits import Trait


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


def _infer(tensors, attributes):
    (x,) = tensors
    amounts, value = _amounts(x.shape, attributes), attributes["value"]
    if x.scale.axis is not None and (value or any(amounts[x.scale.axis])):
        raise FormatError(
            f"op `pad` of a scale along axis {x.scale.axis} must have `value` 0 and leave that axis as it is; requantize first"
        )
    shape = [n + begin + end for n, (begin, end) in zip(x.shape, amounts, strict=True)]
    return Inference((laid_out(x, shape, _padded_range(x.range, amounts, value), x.scale, "pad"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    amounts = _amounts(x.shape, attributes)
    out = np.empty([n + begin + end for n, (begin, end) in zip(x.shape, amounts, strict=True)], dtype=object)
    for index in np.ndindex(*out.shape):
        source = tuple(i - begin for i, (begin, _) in zip(index, amounts, strict=True))
        inside = all(0 <= i < n for i, n in zip(source, x.shape, strict=True))
        out[index] = x[source] if inside else attributes["value"]
    return [out]


OP = Op(
    name="pad",
    summary="a constant code around each sample",
    attributes=(
        Attribute("pads", "ints", "begin of each axis, then end of each axis; 0 for the batch"),
        Attribute("value", "int", "the code that is put there", 0),
    ),
    inputs=("x",),
    traits=frozenset({Trait.ANY_WORD, Trait.LAYOUT}),
    primitives=frozenset(),
    infer=_infer,
    reference=_reference,
    count=no_operations,
)
