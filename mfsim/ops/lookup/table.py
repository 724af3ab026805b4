"""table: a stated nonlinearity of one operand, looked up.

    y = table[min(max(x - first, 0), size - 1)]

The table is a constant of at most 2**16 entries, shared by all codes of x; y has its word and scale.
An end is compared only where the proved range of x passes it. `x - first` is no operation: the low
bits of x address the table, stored from the entry of x = 0 onwards.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.overflow import CLAMPS, clamped_bounds, compared_bits, compared_ends, needed_clamp
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

MAX_ENTRIES = 2**16
"""The greatest size of a table: an index of 16 bits."""


def _pairs(x):
    return list(zip(x.range.lo, x.range.hi, strict=True))


def _last(table, attributes) -> int:
    """Return the greatest code that has an entry of its own."""
    if not table.is_constant:
        raise FormatError("the table of op `table` must be a constant")
    if len(table.shape) != 1 or not 1 <= table.shape[0] <= MAX_ENTRIES:
        raise ShapeError(
            f"the table of op `table` must be one row of 1..{MAX_ENTRIES} entries, not of shape {table.shape}"
        )
    first = int(attributes["first"])
    last = first + int(table.shape[0]) - 1
    Format.of_range(min(first, 0), max(last, 0), "the address of a table")
    return last


def _derive(tensors, attributes):
    """Return the ends that the proved range of x passes."""
    x, table = tensors
    return {"clamp": needed_clamp(_pairs(x), attributes["first"], _last(table, attributes))}


def _infer(tensors, attributes):
    x, table = tensors
    first, last = attributes["first"], _last(table, attributes)
    if x.scale.axis is not None or table.scale.axis is not None:
        raise FormatError("x and the table of op `table` must have one scale each; requantize first")
    met = [
        table.codes[lo - first : hi - first + 1]
        for lo, hi in clamped_bounds("table", _pairs(x), first, last, attributes["clamp"])
    ]
    range_ = Range(tuple(int(m.min()) for m in met), tuple(int(m.max()) for m in met), x.range.axis)
    return Inference((result(x.shape, range_, table.scale, "the result of table", table.format),), tight=True)


def _reference(inputs, attributes):
    x, table = inputs
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        out[index] = table[min(max(x[index] - attributes["first"], 0), len(table) - 1)]
    return [out]


def _count(node, inputs, outputs):
    x, table = inputs
    n, first, clamp = size(x.shape), node.attributes["first"], node.attributes["clamp"]
    bits, ends = compared_bits(x, first, first + table.shape[0] - 1, clamp), compared_ends(clamp)
    index_bits = max(1, (table.shape[0] - 1).bit_length())
    return rows(
        node,
        ("cmp", (bits,), n * ends),
        ("select", (bits,), n * ends),
        ("lut", (index_bits, table.format.bits), n),
    )


OP = Op(
    name="table",
    summary="look codes up in a table of at most 2^16 entries",
    attributes=(
        Attribute("first", "int", "code of x that meets the first entry"),
        Attribute("clamp", "str", "ends of the table that have to be compared", None, CLAMPS, derived=True),
    ),
    inputs=("x", "table"),
    roles={"table": Role.TABLE},
    signature=Signature(
        "Table",
        (
            X,
            X_SCALE,
            Input("table", Role.TABLE, unquantized=True),
            Input("first", Role.CONSTANT, unquantized=True),
            Y_SCALE,
        ),
    ),
    primitives=frozenset({"lut", "cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
)
