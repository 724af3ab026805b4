"""Memory of small programs, worked out by hand."""

from __future__ import annotations

import json

import numpy as np

from mfsim.analysis import memory
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from tests.analysis.programs import mixed, residual
from tests.programs_with_caches import remembering


def test_peak_of_a_residual_network_is_at_the_sum():
    """x: 16 codes of s8, 16 bytes. quantizer: s4, 8 bytes. transform: s8, 16 bytes.

    The sum lies on the grid of x, 4 bits finer than that of the transform: 16 * (-128..120) + (-128..127)
    = -2176..2047, s13, 26 bytes. The relu leaves 0..2047, u11, 22 bytes.
    """
    report = memory(residual())
    live = [(node, size, buffers) for node, _, _, _, size, buffers in report.schedule]
    assert live == [
        ("quantizer", 16 + 8, ("x", "quantizer")),
        ("transform", 16 + 8 + 16, ("x", "quantizer", "transform")),
        ("sum", 16 + 16 + 26, ("x", "transform", "sum")),
        ("positive", 26 + 22, ("sum", "positive")),
    ]
    assert (report.peak_bytes, report.peak_node) == (58, "sum")


def test_value_that_only_the_caller_reads_stays_live_to_the_end():
    builder = ProgramBuilder()
    x = builder.input("x", (8,), Format(8))
    first = builder.node("relu", [x], name="first")
    second = builder.node("neg", [x], name="second")
    third = builder.node("relu", [second], name="third")
    report = memory(builder.finish([first, third]))
    assert report.schedule[-1][5] == ("first", "second", "third")


def test_input_that_is_handed_on_stays_live():
    builder = ProgramBuilder()
    x, y = builder.input("x", (8,), Format(8)), builder.input("y", (4,), Format(8))
    report = memory(builder.finish([builder.node("relu", [y], name="r"), x]))
    assert report.schedule[0][4] == 8 + 4 + 4


def test_relabelled_scale_needs_no_buffer():
    builder = ProgramBuilder()
    x = builder.input("x", (8,), Format(8))
    y = builder.node("shift", [x], {"exponents": (2,)}, name="gain")
    y = builder.node("shift", [y], {"exponents": (1,)}, name="again")
    report = memory(builder.finish([builder.node("neg", [y], name="n")]))
    assert [t.tensor for t in report.tensors] == ["x", "n"]
    assert [step[4] for step in report.schedule] == [8, 8, 8 + 9]


def test_weights_are_packed_and_tables_apart():
    report = memory(mixed())
    stored = {
        t.tensor: (t.kind, t.codes, t.bits, t.total_bits, t.bytes) for t in report.tensors if t.kind != "activation"
    }
    assert stored == {
        "mf.weight": ("weight", 128, 8, 1024, 128),
        "act.table": ("table", 64, 4, 256, 32),
        "head.weight": ("weight", 32, 4, 128, 16),
    }
    assert (report.weight_codes, report.total_bits("weight"), report.total_bytes("weight")) == (160, 1152, 144)


def test_part_of_a_byte_is_a_byte():
    builder = ProgramBuilder()
    x = builder.input("x", (3,), Format(3))
    b = builder.constant("b", np.array([1, 1, -1]), Format(3), Scale.of(0))
    report = memory(builder.finish([builder.node("add", [x, b])]))
    assert [(t.tensor, t.total_bits, t.bytes) for t in report.tensors] == [("x", 9, 2), ("b", 9, 2), ("add", 12, 2)]


def test_constant_that_two_nodes_read_is_stored_once():
    builder = ProgramBuilder()
    x = builder.input("x", (3,), Format(3))
    b = builder.constant("b", np.array([1, 1, 1]), Format(3), Scale.of(0))
    y = builder.node("add", [x, b], layer="one")
    report = memory(builder.finish([builder.node("add", [y, b], layer="two")]))
    assert [t.layer for t in report.tensors if t.tensor == "b"] == ["one"]


def test_layers_and_widths_sum_to_the_totals():
    report = memory(mixed())
    for column, kind in enumerate(("weight", "table", "activation"), start=1):
        assert sum(row[column] for row in report.by_layer()) == report.total_bytes(kind)
        assert sum(row[5] for row in report.by_width() if row[0] == kind) == report.total_bytes(kind)
        assert sum(row[4] for row in report.by_width() if row[0] == kind) == report.total_bits(kind)
    assert [row[0] for row in report.by_layer()] == ["", "mf", "gain", "act", "head"]


def test_program_without_nodes_needs_its_input():
    builder = ProgramBuilder()
    report = memory(builder.finish([builder.input("x", (5,), Format(8))]))
    assert (report.peak_bytes, report.peak_node) == (5, "")


def test_json_has_the_totals(tmp_path):
    report = memory(residual())
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert content["memory_totals"]["peak_activation_bytes"] == 58
    assert len(report.write_csv(tmp_path)) == 5


def test_caches_are_counted_apart():
    """The cache: 3 rows of 2 codes of s4, 24 bits; the row of a token takes one byte. Ids take u2, positions u2."""
    report = memory(remembering())
    assert [(t.tensor, t.kind, t.total_bits) for t in report.tensors if t.kind == "cache"] == [("cache", "cache", 24)]
    assert (report.total_bytes("cache"), report.cache.bytes_per_token, report.cache.rows) == (3, 1, 3)
    assert report.summary()["cache_bytes_per_token"] == 1
    assert report.summary()["cache_tokens"] == 3
    assert all("cache" not in live for *_, live in report.schedule)
    assert report.by_layer()[0][-1] == 3


def test_programs_without_caches_say_nothing_of_them():
    report = memory(mixed())
    assert report.cache is None
    assert report.total_bytes("cache") == 0
    assert "cache_tokens" not in report.summary()


def test_a_gain_that_relabels_the_scale_takes_no_buffer():
    builder = ProgramBuilder()
    x = builder.input("x", (8,), Format(8))
    y = builder.node("gain", [builder.node("neg", [x])], {"numerators": (3,), "denominators": (5,)})
    report = memory(builder.finish([y]))
    assert [(row.tensor, row.kind) for row in report.tensors] == [("x", "activation"), ("neg", "activation")]
