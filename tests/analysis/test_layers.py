"""One row for each layer, from the other analyses."""

from __future__ import annotations

import numpy as np

from mfsim.analysis import count, layer_errors, layers, memory, widths
from tests.analysis.programs import mixed, residual, simulated


def report_of(program, simulation=None, errors=None):
    return layers(program, count(program), widths(program, simulation), memory(program), errors)


def test_words_come_from_outside_the_layer_and_leave_it():
    rows = {row.layer: row for row in report_of(residual()).rows}
    block = rows["block"]
    assert block.ops == ("add", "relu")
    assert block.input_words == ("s8",), "x and the transform; the sum stays inside"
    assert block.output_words == ("u11",)
    assert (block.widest, block.proved_lo, block.proved_hi, block.proved_bits) == ("sum", -2176, 2047, 13)
    assert rows["block.wht"].accumulators == ("butterfly:s9",)


def test_weights_operations_and_observations_of_a_layer():
    program = mixed()
    simulation = simulated({"fit": (-20, 20), "lookup": (1, 6)}, {"fit": 3})
    rows = {row.layer: row for row in report_of(program, simulation).rows}
    assert list(rows) == ["mf", "gain", "act", "head"]
    assert (rows["mf"].weight_words, rows["mf"].weight_bytes) == (("s8",), 128)
    assert rows["act"].weight_words == ("s4",)
    assert rows["act"].weight_bytes == 0, "a table is no weight"
    assert (rows["act"].observed_lo, rows["act"].observed_bits, rows["act"].overflows) == (-20, 6, 3)
    assert rows["head"].operations["mul"] == 32
    assert rows["gain"].operations == {}


def test_error_is_that_of_the_value_the_layer_hands_on():
    program = residual()
    codes = {name: np.ones((2, 16), dtype=np.int64) for name in ("sum", "positive")}
    grid = 2.0 ** program.tensors["positive"].scale.exponent
    errors = layer_errors(program, {"sum": np.full((2, 16), 9.0), "positive": np.full((2, 16), grid)}, codes)
    rows = {row.layer: row for row in report_of(program, None, errors).rows}
    assert (rows["block"].exact, rows["block"].sqnr_db) == (True, None)
    assert (rows["block.wht"].exact, rows["block.wht"].sqnr_db) == (None, None)


def test_listing_has_one_column_for_each_primitive(tmp_path):
    report = report_of(mixed())
    (listing,) = report.listings()
    record = listing.records()[-1]
    assert (record["layer"], record["mul"], record["lut"]) == ("head", 32, 0)
    assert record["total"] == sum(report.rows[-1].operations.values())
    assert [path.name for path in report.write_csv(tmp_path)] == ["layers.csv"]
