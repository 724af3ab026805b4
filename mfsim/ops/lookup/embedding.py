"""embedding: rows of a constant table, chosen by codes.

    y[..., :] = table[x[...]]

x are row numbers, such as the ids of tokens or their positions, and its proved range lies inside the
table: nothing is clamped. y has the word and the scale of the table. The table holds learned or fixed
values of no stated function, so it counts as weights in memory; each code of y is one lookup.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.formats import Range
from mfsim.ops.op import Inference, Op, result, rows, size
from mfsim.ops.traits import Role


def _infer(tensors, attributes):
    x, table = tensors
    if not table.is_constant:
        raise FormatError("the table of op `embedding` must be a constant")
    if not table.shape or not table.sample_size:
        raise ShapeError(f"the table of op `embedding` must have rows, not the shape {table.shape}")
    if x.range.low < 0 or x.range.high >= table.shape[0]:
        raise RangeError(
            f"x of op `embedding` must number the rows 0..{table.shape[0] - 1} of the table, "
            f"and reaches {x.range.low}..{x.range.high}"
        )
    if x.scale.axis is not None or table.scale.axis is not None:
        raise FormatError("x and the table of op `embedding` must have one scale each; requantize first")
    met = np.concatenate([table.codes[lo : hi + 1] for lo, hi in zip(x.range.lo, x.range.hi, strict=True)])
    range_ = Range.of(met.min(), met.max())
    shape = (*x.shape, *table.shape[1:])
    return Inference((result(shape, range_, table.scale, "the result of embedding", table.format),), tight=True)


def _reference(inputs, attributes):
    x, table = inputs
    out = np.empty((*x.shape, *table.shape[1:]), dtype=object)
    for index in np.ndindex(*x.shape):
        for place in np.ndindex(*table.shape[1:]):
            out[index + place] = table[(int(x[index]), *place)]
    return [out]


def _count(node, inputs, outputs):
    table, (y,) = inputs[1], outputs
    index_bits = max(1, (table.shape[0] - 1).bit_length())
    return rows(node, ("lut", (index_bits, table.format.bits), size(y.shape)))


OP = Op(
    name="embedding",
    summary="rows of a constant table, such as the embeddings of token ids",
    attributes=(),
    inputs=("x", "rows"),
    roles={"rows": Role.WEIGHT},
    primitives=frozenset({"lut"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
)
