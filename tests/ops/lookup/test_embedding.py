"""embedding: what it refuses, and what it counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.analysis import count, memory
from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from tests.ops.proving import prove, refusal

ROWS = constant("rows", np.arange(12).reshape(6, 2), Format(5), Scale.of(-3))
IDS = replace(activation("ids", (4,), Format(3, False)), range=Range.of(0, 5))


def test_what_is_refused():
    assert refusal("embedding", IDS, activation("rows", (2,), Format(5))) == (
        FormatError,
        "the table of op `embedding` must be a constant",
    )
    assert refusal("embedding", IDS, constant("rows", 3)) == (
        ShapeError,
        "the table of op `embedding` must have rows, not the shape ()",
    )
    past = "x of op `embedding` must number the rows 0..5 of the table, and reaches "
    assert refusal("embedding", replace(IDS, range=Range.of(0, 6)), ROWS) == (RangeError, f"{past}0..6")
    signed = replace(activation("ids", (4,), Format(3)), range=Range.of(-1, 2))
    assert refusal("embedding", signed, ROWS) == (RangeError, f"{past}-1..2")
    by_row = constant("rows", np.arange(12).reshape(6, 2), Format(5), Scale((-3,) * 5 + (-2,), 0))
    assert refusal("embedding", IDS, by_row) == (
        FormatError,
        "x and the table of op `embedding` must have one scale each; requantize first",
    )


def test_result_has_word_and_scale_of_the_table_and_the_range_of_the_rows_that_are_met():
    (y,) = prove("embedding", replace(IDS, range=Range.of(1, 2)), ROWS).outputs
    assert (y.shape, y.format, y.scale, y.range) == ((1, 4, 2), Format(5), Scale.of(-3), Range.of(2, 5))


def test_each_code_is_a_lookup_and_the_table_is_weights():
    builder = ProgramBuilder()
    ids = builder.input_tensor(IDS)
    program = builder.finish([builder.node("embedding", [ids, builder.constant_tensor(ROWS)])])
    report = count(program)
    assert [(row.primitive, row.widths, row.count) for row in report.rows] == [("lut", (3, 5), 8)]
    assert [(t.tensor, t.kind) for t in memory(program).tensors if t.kind != "activation"] == [("rows", "weight")]
    assert not report.tables
