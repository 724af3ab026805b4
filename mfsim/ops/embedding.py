"""embedding: rows of a constant table, chosen by codes.

    y[..., :] = table[x[...]]

x are row numbers, such as the ids of tokens or their positions, and its proved range lies inside the
table: nothing is clamped. y has the word and the scale of the table. The table holds learned or fixed
values of no stated function, so it counts as weights in memory; each code of y is one lookup.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, Inference, Op, activation, constant, result, rows, size


def infer(tensors, attributes):
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


def reference(inputs, attributes):
    x, table = inputs
    out = np.empty((*x.shape, *table.shape[1:]), dtype=object)
    for index in np.ndindex(*x.shape):
        for place in np.ndindex(*table.shape[1:]):
            out[index + place] = table[(int(x[index]), *place)]
    return [out]


def count(node, inputs, outputs):
    table, (y,) = inputs[1], outputs
    index_bits = max(1, (table.shape[0] - 1).bit_length())
    return rows(node, ("lut", (index_bits, table.format.bits), size(y.shape)))


def cases():
    rng = np.random.default_rng(7)
    codes = constant("table", rng.integers(-128, 128, (16, 3)), Format(8), Scale.of(-6))
    yield Case("ids", (activation("x", (1,), Format(4, False)), codes), exhaustive=True)
    ids = replace(activation("x", (5,), Format(5, False)), range=Range.of(0, 17))
    yield Case("ragged", (ids, constant("table", rng.integers(-8, 8, (18, 4)), Format(6))))
    yield Case("part", (replace(ids, range=Range.of(3, 9)), constant("table", rng.integers(0, 99, (18, 2)))))
    signed = replace(activation("x", (2,), Format(3)), range=Range((0, 2), (1, 3), 1))
    yield Case("ranges", (signed, constant("table", rng.integers(-99, 99, (4, 2)))), exhaustive=True)
    yield Case("mask", (activation("x", (2,), Format(2, False)), constant("table", np.tri(4, 4, dtype=int))))
    yield Case("numbers", (activation("x", (2, 3), Format(4, False)), constant("table", rng.integers(-9, 9, 16))))
    cube = constant("table", rng.integers(-9, 9, (8, 2, 3)), scale=Scale.of(2))
    yield Case("matrices", (activation("x", (2,), Format(3, False)), cube))
    long = constant("table", rng.integers(-(2**60), 2**60, (4, 2)))
    yield Case("past-2**53", (activation("x", (3,), Format(2, False)), long))


OP = Op(
    name="embedding",
    summary="rows of a constant table, such as the embeddings of token ids",
    attributes=(),
    inputs=("x", "rows"),
    primitives=frozenset({"lut"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
