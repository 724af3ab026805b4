"""Tables: where ends are compared, what is counted, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim import ops
from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal

X = activation("x", (1,), Format(4), Scale.of(-2))
SQUARES = constant("t", np.array([9, 4, 1, 0, 1, 4, 9]), Format(4, False), Scale.of(-4))


def test_codes_outside_meet_the_end_entries():
    codes = [[-8], [-4], [-3], [-1], [0], [3], [4], [7]]
    assert compute("table", (X, SQUARES), [codes], first=-3) == [[9], [9], [9], [1], [0], [9], [9], [9]]


@pytest.mark.parametrize(
    ("lo", "hi", "clamp", "ends"),
    [(-3, 3, "none", 0), (-4, 3, "low", 1), (-3, 4, "high", 1), (-4, 4, "both", 2)],
)
def test_an_end_is_compared_only_where_the_range_passes_it(lo, hi, clamp, ends):
    x = replace(X, range=Range.of(lo, hi))
    op = ops.get("table")
    assert op.derived((x, SQUARES), {"first": -3})["clamp"] == clamp
    assert counted("table", x, SQUARES, first=-3) == {"lut": 1} | ({"cmp": ends, "select": ends} if ends else {})


def test_result_has_the_word_and_scale_of_the_table_and_the_range_of_the_entries_met():
    (y,) = prove("table", replace(X, range=Range.of(-1, 2)), SQUARES, first=-3).outputs
    assert (y.format, y.scale, y.range) == (Format(4, False), Scale.of(-4), Range.of(0, 4))


def test_lookup_has_the_widths_of_index_and_entry():
    op = ops.get("table")
    builder = ProgramBuilder()
    x, table = builder.input_tensor(X), builder.constant_tensor(SQUARES)
    program = builder.finish([builder.node("table", [x, table], {"first": -3})])
    (node,) = program.nodes
    rows = op.count(node, program.inputs_of(node), program.outputs_of(node))
    assert [(row.primitive, row.widths, row.count) for row in rows] == [
        ("cmp", (4,), 2),
        ("select", (4,), 2),
        ("lut", (3, 4), 1),
    ]


@pytest.mark.parametrize(
    ("tensors", "attributes", "kind", "message"),
    [
        (
            (X, constant("t", np.zeros(2**16 + 1, dtype=int))),
            {"first": 0},
            ShapeError,
            "the table of op `table` must be one row of 1..65536 entries, not of shape (65537,)",
        ),
        (
            (X, constant("t", np.zeros((2, 2), dtype=int))),
            {"first": 0},
            ShapeError,
            "the table of op `table` must be one row of 1..65536 entries, not of shape (2, 2)",
        ),
        (
            (X, constant("t", np.zeros(0, dtype=int))),
            {"first": 0},
            ShapeError,
            "the table of op `table` must be one row of 1..65536 entries, not of shape (0,)",
        ),
        (
            (X, activation("t", (4,), Format(4))),
            {"first": 0},
            FormatError,
            "the table of op `table` must be a constant",
        ),
        (
            (activation("x", (2,), Format(4), Scale((0, 1), 1)), SQUARES),
            {"first": 0},
            FormatError,
            "x and the table of op `table` must have one scale each; requantize first",
        ),
        (
            (X, SQUARES),
            {"first": -3, "clamp": "low"},
            FormatError,
            "`clamp` of op `table` must not be low: the input range passes -3..3",
        ),
        (
            (X, SQUARES),
            {"first": 2**63},
            RangeError,
            "the address of a table needs 64 bits for 0..9223372036854775814, and at most 63 bits are possible",
        ),
        ((X, SQUARES), {}, FormatError, "op `table` needs the attribute `first`"),
    ],
)
def test_refused(tensors, attributes, kind, message):
    assert refusal("table", *tensors, **attributes) == (kind, message)
