"""table: a stated nonlinearity of one operand, looked up.

    y = table[min(max(x - first, 0), size - 1)]

The table is a constant of at most 2**16 entries, shared by all codes of x; y has its word and scale.
An end is compared only where the proved range of x passes it. `x - first` is no operation: the low
bits of x address the table, stored from the entry of x = 0 onwards.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.fitting import CLAMPS, clamped_bounds, compared_ends, needed_clamp
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, constant, result, rows, size

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


def derive(tensors, attributes):
    """Return the ends that the proved range of x passes."""
    x, table = tensors
    return {"clamp": needed_clamp(_pairs(x), attributes["first"], _last(table, attributes))}


def infer(tensors, attributes):
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


def reference(inputs, attributes):
    x, table = inputs
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        out[index] = table[min(max(x[index] - attributes["first"], 0), len(table) - 1)]
    return [out]


def count(node, inputs, outputs):
    x, table = inputs
    n, bits = size(x.shape), x.format.bits
    ends = compared_ends(node.attributes["clamp"])
    index_bits = max(1, (table.shape[0] - 1).bit_length())
    return rows(
        node,
        ("cmp", (bits,), n * ends),
        ("select", (bits,), n * ends),
        ("lut", (index_bits, table.format.bits), n),
    )


def cases():
    rng = np.random.default_rng(5)
    x = activation("x", (1,), Format(8), Scale.of(-4))
    for name, first, entries in (
        ("whole", -128, 256),
        ("both", -5, 11),
        ("low", 0, 128),
        ("high", -128, 7),
        ("beyond", 300, 3),
        ("one", 0, 1),
    ):
        codes = constant("table", rng.integers(-128, 128, entries), Format(8), Scale.of(-7))
        yield Case(name, (x, codes), {"first": first}, exhaustive=True)
    unsigned = constant("table", np.arange(64) ** 2, Format(12, False), Scale.of(-12))
    yield Case("unsigned", (activation("x", (3, 2), Format(6, False)), unsigned), {"first": 0})
    ranged = replace(activation("x", (2, 2), Format(4)), range=Range((-3, 5), (2, 7), 1))
    yield Case("ranges-by-channel", (ranged, constant("table", rng.integers(0, 99, 6))), {"first": -1}, exhaustive=True)
    long = constant("table", rng.integers(-(2**40), 2**40, MAX_ENTRIES))
    yield Case("longest", (activation("x", (4,), Format(16)), long), {"first": -(2**15)})
    yield Case(
        "past-2**53",
        (activation("x", (4,), Format(60)), long),
        {"first": 2**54},
        extra=((2**54 + np.array([-1, 0, 65535, 65536]),),),
    )


OP = Op(
    name="table",
    summary="look codes up in a table of at most 2^16 entries",
    attributes=(
        Attribute("first", "int", "code of x that meets the first entry"),
        Attribute("clamp", "str", "ends of the table that have to be compared", None, CLAMPS, derived=True),
    ),
    inputs=("x", "table"),
    primitives=frozenset({"lut", "cmp", "select"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
)
