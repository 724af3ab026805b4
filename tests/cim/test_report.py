"""The report of a program on arrays: every node once, totals that are sums, energy and what it rests on."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from mfsim.analysis import count, energy
from mfsim.cim import ARRAYS, CimArray, map_program
from mfsim.errors import CountError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from tests.analysis.programs import mixed, one, residual, with_unknown_op
from tests.programs import random_program

SUMMED = ("tiles", "cells", "cells_used", "activations", "conversions", "adds", "cycles", "cycles_of_one_array")
MACRO, CROSSBAR = ARRAYS["mf-net-8x62"], ARRAYS["wht-16x16"]


@pytest.mark.parametrize("array", ARRAYS.values(), ids=list(ARRAYS))
@pytest.mark.parametrize("seed", range(20))
def test_every_node_is_on_arrays_or_digital_and_totals_are_sums(seed, array):
    program = random_program(seed)
    report = map_program(program, array)
    assert sorted([*(n.node for n in report.nodes), *(n.node for n in report.digital)]) == sorted(
        n.name for n in program.nodes
    )
    totals = report.summary()
    for name in SUMMED:
        assert totals[name] == sum(getattr(node, name) for node in report.nodes)
        if name != "adds":
            for node in report.nodes:
                assert getattr(node, name) == sum(getattr(p, name) for p in report.parts if p.node == node.node)
    for node in report.nodes:
        adds = [row.count for row in report.outside if row.node == node.node and row.primitive == "addsub"]
        assert node.adds == sum(adds)
        assert node.pj == pytest.approx(sum(row.pj for row in report.spent if row.node == node.node))
        assert 0 < node.utilisation <= 1
    counted = count(program).by_node()
    assert {node.node: node.operations for node in report.digital} == {
        node.node: sum(counted[node.node].values()) for node in report.digital
    }
    assert report.total_pj == pytest.approx(totals["array_nodes_pj"] + totals["digital_nodes_pj"])
    assert report.all_digital_pj == energy(count(program)).total_pj
    assert all(row.count >= 0 for row in report.spent)
    json.dumps(report.to_json(), allow_nan=False)


def test_digital_nodes_are_named_with_their_reason():
    report = map_program(mixed(), MACRO)
    assert [(node.node, node.operations > 0, node.reason) for node in report.digital] == [
        ("gain", False, "no product with stored weights; nothing is computed"),
        ("fit", True, "no product with stored weights"),
        ("lookup", True, "no product with stored weights"),
    ]
    assert [node.node for node in report.nodes] == ["mf", "head"]


def test_each_kind_of_array_serves_its_own_ops():
    (node,) = [n for n in map_program(residual(), MACRO).digital if n.op == "wht"]
    assert node.reason == "the array stores weights, not the transform"
    assert [n.op for n in map_program(residual(), CROSSBAR).nodes] == ["wht"]
    reasons = {n.node: n.reason for n in map_program(mixed(), CROSSBAR).digital}
    assert reasons["mf"] == reasons["head"] == "the array stores the transform, no weights"


def test_weights_whose_terms_are_no_products_stay_digital():
    report = map_program(one("adder_matmul", (3,), {}, [(np.arange(6).reshape(3, 2), 8, -7)]), MACRO)
    assert [(n.op, n.reason) for n in report.digital] == [("adder_matmul", "its terms have no mapping onto cells here")]


def test_transform_of_length_1_computes_nothing():
    report = map_program(one("wht", (3, 1)), CROSSBAR)
    assert [(n.operations, n.reason) for n in report.digital] == [(0, "a transform of length 1; nothing is computed")]
    report = map_program(one("wht", (4, 1), {"dims": 2}), CROSSBAR)
    assert [part.part for part in report.parts] == ["transform along axis 1"]


def test_product_of_two_activations_stays_digital():
    builder = ProgramBuilder()
    x, w = builder.input("x", (2, 3), Format(8)), builder.input("w", (3, 4), Format(8))
    report = map_program(builder.finish([builder.node("mf_matmul", [x, w], name="scores")]), MACRO)
    assert [(n.node, n.reason) for n in report.digital] == [
        ("scores", "both operands are activations, and cells hold constants")
    ]


def test_node_that_cannot_be_counted_is_an_error():
    with pytest.raises(CountError, match=r"^node `mf` of layer `mf` cannot be counted: `wht2` is not an op"):
        map_program(with_unknown_op(mixed()), MACRO)


@pytest.mark.parametrize(
    ("word", "zero", "pads", "signs"),
    [
        (Format(8, False), 0, 0, ""),
        (Format(8, False), 1, 0, ""),
        (Format(8), 0, 0, "two line passes, positive and negative inputs apart"),
        (Format(8), 1, 1, "one pass, twice the sum minus a stored constant"),
    ],
)
def test_what_signs_of_x_need(word, zero, pads, signs):
    builder = ProgramBuilder()
    x = builder.input("x", (1, 4, 4), word)
    w = builder.constant("w", np.ones((1, 1, 2, 2), dtype=int), Format(2))
    attributes = {"sign_zero": zero, "pads": (pads,) * 4}
    report = map_program(builder.finish([builder.node("mf_conv2d", [x, w], attributes)]), MACRO)
    assert [part.signs for part in report.parts] == [signs, ""]


def test_padding_brings_the_sign_of_zero():
    """x in 1..5 or -5..-1 has one sign. Padding adds that of 0: still one bit, but -1 and +1 need a correction."""
    from dataclasses import replace

    from mfsim.ir.formats import Range
    from mfsim.ops.op import activation

    def signs(lo, hi, pads, zero):
        builder = ProgramBuilder()
        x = builder.input_tensor(replace(activation("x", (2, 2, 2), Format(4)), range=Range.of(lo, hi)))
        w = builder.constant("w", np.ones((1, 2, 2, 2), dtype=int), Format(2))
        program = builder.finish([builder.node("mf_conv2d", [x, w], {"pads": (pads,) * 4, "sign_zero": zero})])
        return map_program(program, MACRO).parts[0].signs

    correction = "one pass, twice the sum minus a stored constant"
    assert [signs(1, 5, pads, zero) for pads in (0, 1) for zero in (0, 1)] == [""] * 4
    assert [signs(-5, -1, pads, zero) for pads in (0, 1) for zero in (0, 1)] == ["", "", "", correction]


def test_halves_take_turns_only_where_both_hold_a_tile():
    """16 terms, 2 outputs of 4 planes: one tile of 31 x 8. x has 4 planes, 8 rows share a converter: 32 cycles."""
    assert map_program(residual_product(), MACRO).summary()["cycles"] == 32
    assert map_program(residual_product(), MACRO.changed(columns=30)).summary()["cycles"] == 64


def test_energy_of_an_ideal_converter_is_that_of_a_loss_free_one():
    """16 terms on 32 rows: 17 levels, 5 bits; (100 * 5 + 0.001 * 4^5) * 0.9^2 = 405.82944 fJ for each conversion."""
    report = map_program(residual_product(), CimArray(rows=32, columns=32))
    (row,) = [row for row in report.spent if row.primitive == "conversion"]
    assert row.pj_each == pytest.approx(0.40582944, rel=1e-12), "decimal figures"
    assert (row.widths, row.basis) == ((5,), "fit")


def test_converter_of_given_energy_and_lines_with_converters_of_their_own():
    """x is s4: a sign plane and one digit of 3 bits, though a line could carry 4: 50 * 3 fJ for each line."""
    report = map_program(residual_product(), CimArray(rows=32, columns=32, conversion_pj=0.25, input_bits=4, vdd=1.0))
    kinds = {row.primitive: row for row in report.spent if row.primitive in ("conversion", "line", "cell")}
    assert (kinds["conversion"].pj_each, kinds["conversion"].basis) == (0.25, "given")
    assert (round(kinds["line"].pj_each, 12), kinds["line"].basis) == (0.15, "fit")
    assert (round(kinds["cell"].pj_each, 12), kinds["cell"].basis) == (0.7e-3, "estimate")
    assert dict(report.summary())["estimated_share"] == report.estimated_share > 0


def residual_product():
    """Return a dense product of 16 terms and 2 outputs, s4 by s4."""
    builder = ProgramBuilder()
    x = builder.input("x", (16,), Format(4), Scale.of(-3))
    w = builder.constant("w", np.arange(32).reshape(16, 2) % 15 - 7, Format(4), Scale.of(-3))
    return builder.finish([builder.node("matmul", [x, w])])


def test_time_is_that_of_the_array_or_of_the_fit():
    """A conversion to 5 bits of 32 cells takes 5 * (0.00653 * 32 + 0.640) = 4.2448 ns; 4 planes of x: 4 cycles."""
    assert map_program(residual_product(), CimArray(rows=32, columns=32, cycle_ns=10)).summary()["microseconds"] == 0.04
    fit = map_program(residual_product(), CimArray(rows=32, columns=32)).summary()["microseconds"]
    assert fit == pytest.approx(4 * 4.2448 / 1000, rel=1e-12), "decimal figures"


def test_program_without_anything_for_the_array():
    report = map_program(one("relu", (4,)), MACRO)
    totals = report.summary()
    assert (totals["tiles"], totals["utilisation"], totals["microseconds"]) == (0, None, None)
    assert totals["total_pj"] == totals["all_digital_pj"]


def test_csv_files_hold_the_listings(tmp_path):
    report = map_program(mixed(), MACRO)
    paths = report.write_csv(tmp_path)
    assert [path.stem for path in paths] == [listing.name for listing in report.listings()]
    rows = list(csv.DictReader((tmp_path / "cim_nodes.csv").read_text().splitlines()))
    assert [(row["node"], int(row["tiles"])) for row in rows] == [(n.node, n.tiles) for n in report.nodes]
    sources = (tmp_path / "cim_sources.csv").read_text()
    assert all(re.search(name, sources) for name in ("arXiv 2102.00035", "Horowitz", "ZigZag-IMC"))
