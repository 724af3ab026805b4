"""Conformance cases of the lookups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.lookup.table import MAX_ENTRIES
from mfsim.ops.op import Case, activation, constant

# table: a stated nonlinearity of one operand, looked up.
#
#     y = table[min(max(x - first, 0), size - 1)]
#
# The table is a constant of at most 2**16 entries, shared by all codes of x; y has its word and scale.
# An end is compared only where the proved range of x passes it. `x - first` is no operation: the low
# bits of x address the table, stored from the entry of x = 0 onwards.


def cases_table():
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


# embedding: rows of a constant table, chosen by codes.
#
#     y[..., :] = table[x[...]]
#
# x are row numbers, such as the ids of tokens or their positions, and its proved range lies inside the
# table: nothing is clamped. y has the word and the scale of the table. The table holds learned or fixed
# values of no stated function, so it counts as weights in memory; each code of y is one lookup.


def cases_embedding():
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
