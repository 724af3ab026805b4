"""Results in a terminal and in a notebook: one line, an aligned table, HTML."""

from __future__ import annotations

import numpy as np
import pytest

from examples.papers import report
from mfsim.analysis import count, energy, layers, memory, widths
from mfsim.analysis.added import AddedError, AddedErrors
from mfsim.analysis.error import ErrorFigures, ErrorReport, LayerError
from mfsim.analysis.listing import Listing
from mfsim.analysis.sweeps import SweepReport, SweepRow
from mfsim.cim import ARRAYS, map_program
from mfsim.errors import MfsimError
from mfsim.export.check_report import CheckReport, CodeParity, FloatParity, LayerErrors, Limits
from mfsim.parity.compare import ParityPair
from mfsim.parity.realisations import Realisations
from mfsim.simulate import Simulation, simulate
from tests.analysis.programs import mixed, residual, simulated, with_unknown_op
from tests.report.networks import result as network

MIXED = mixed()
FOUND = Simulation(
    2,
    {"y": np.array([[1, -5], [7, 0]])},
    {"x": (-3, 4), "y": (-5, 7)},
    {"fit": 2, "q": 1},
    {"h": np.zeros((2, 3, 4), np.int64)},
)


def results():
    counts, words, needed = count(MIXED), widths(MIXED), memory(MIXED)
    wrong = LayerError("mf", "mf", "mf_matmul", 4, False, 0.5, 0.25, 30.0, 0.99, None)
    figures = ErrorFigures(4, False, 0.5, 0.25, 30.0, 0.99, None)
    checked = CheckReport(
        8,
        Limits(),
        (FloatParity(True, 8, 1e-7, (3,), ()),),
        (CodeParity(False, 32, 1, 2),),
        (LayerErrors("y", figures),),
        (LayerErrors("fc", figures),),
        ("`y` is wrong",),
    )
    sweep = SweepReport("weights", ("weight",), False, 3, (SweepRow(0, "", (8,), None, "it broke"),), {})
    return {
        "counts": (counts, "CountReport(412 operations of one sample, 32 of them mul, div or sqrt, 1 table)"),
        "paper": (count(MIXED, "paper"), "CountReport(32 multiplications of one sample by the rule paper, 1 table)"),
        "widths": (words, "WidthReport(14 values, words of at most 15 bits, nothing observed)"),
        "memory": (needed, "MemoryReport(weights 144 bytes, tables 32 bytes, activations 31 bytes at their peak)"),
        "energy": (energy(counts), "EnergyReport(18.995 pJ for one sample, 33% estimated, Horowitz 45 nm, 0.9 V)"),
        "errors": (ErrorReport((wrong,)), "ErrorReport(1 tensor, 0 of them exact)"),
        "layers": (layers(MIXED, counts, words, needed), "LayerReport(4 layers)"),
        "added": (AddedErrors((AddedError("a", "Softmax", 4, 0.5, 0.25, 0.0),)), "AddedErrors(1 layer)"),
        "sweep": (sweep, "SweepReport(weights, 1 of 3 points have run, 1 failed)"),
        "cim": (
            map_program(MIXED, ARRAYS["mf-net-8x62"]),
            "CimReport(2 nodes on arrays mf-net-8x62, 3 digital, 126.196 pJ for one sample)",
        ),
        "checked": (checked, "CheckReport(failed on 8 samples; `y` is wrong)"),
        "realisations": (
            Realisations(MIXED, {}, (ParityPair("a = b", 1200, 1), ParityPair("b = c", 34, 0))),
            "Realisations(1,234 codes compared, 1 of them differ)",
        ),
        "network": (
            network("mf", MIXED, mismatches=1),
            "NetworkResult(mf, float 98.89%, quantized 98.61%, integer 97.50%, not bit-exact)",
        ),
        "papers": (report(["hadamard"]), "PapersReport(1 paper, 7 claims)"),
        "simulation": (FOUND, "Simulation(2 samples, outputs y[2], 2 tensors observed, 3 overflows)"),
        "listing": (Listing("one_row", ("a",), ((1,),)), "Listing(one_row, 1 row of 1 column)"),
    }


RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
def test_one_line(name):
    result, line = RESULTS[name]
    assert repr(result) == line


@pytest.mark.parametrize("name", RESULTS)
def test_print_and_html_show_the_same_table_under_the_line(name):
    result, line = RESULTS[name]
    head, empty, columns, *rows = str(result).split("\n")
    shown = result.overview()
    assert (head, empty) == (line, "")
    assert columns.split() == " ".join(shown.columns).replace("_", " ").split()
    assert len(rows) == len(shown.rows) > 0
    html = result._repr_html_()
    assert html.count("<tr>") == 1 + len(rows)
    assert line in html


def test_counts_are_shown_by_layer_with_their_sums():
    assert str(count(residual())).splitlines() == [
        "CountReport(208 operations of one sample, 0 of them mul, div or sqrt)",
        "",
        "layer        addsub  cmp  select  shift  or  total",
        "block.quant      16   16      16     16  16     80",
        "block.wht        64    0       0      0   0     64",
        "block            16   16      16     16   0     64",
        "total            96   32      32     32  16    208",
    ]


def test_counts_say_what_is_not_counted():
    counts = count(with_unknown_op(MIXED), allow_uncounted=True)
    assert repr(counts).endswith(", 1 table, 1 node not counted)")


def test_widths_show_what_was_observed():
    report = widths(MIXED, simulated({"x": (-3, 4)}, {"fit": 2}))
    assert repr(report) == "WidthReport(14 values, words of at most 15 bits, 2 overflows)"
    lines = str(report).splitlines()
    assert lines[2].split("  ")[-4:] == ["observed", "observed bits", "observed slack", "overflows"]
    cells = {line.split()[0]: line.split()[1:] for line in lines[3:]}
    assert cells["x"] == ["input", "s8", "-128..127", "8", "0", "-3..4", "4", "4", "-"]
    assert cells["fit"] == ["edge", "s6", "-32..31", "6", "0", "-", "-", "-", "2"]
    assert cells["fit.rounded"] == ["inner", "s10", "-", "10", "0", "-", "-", "-", "-"]


def test_a_simulation_shows_extreme_codes_and_overflows():
    assert FOUND.table().rows == (
        ("x", "observed", None, -3, 4),
        ("y", "output", "2", -5, 7),
        ("h", "kept", "3 x 4", 0, 0),
    )
    assert FOUND.table("overflows").rows == (("fit", 2), ("q", 1))
    none = simulate(residual(), np.zeros((0, 16), np.int64), keep="x")
    assert none.table().rows == (("x", "kept", "16", None, None), ("positive", "output", "16", None, None))


def test_a_check_lists_errors_and_agreement():
    checked = RESULTS["checked"][0]
    assert [row[:3] for row in checked.table().rows] == [("y", "output", 4), ("fc", "layer", 4)]
    assert checked.table("check_parity").rows == (
        ("float.onnx", True, 8, 0, 1, 1e-7),
        ("model.onnx", False, 32, 1, None, 2),
    )


def test_a_result_without_tables():
    with pytest.raises(MfsimError) as caught:
        AddedErrors().table()
    assert str(caught.value) == "this AddedErrors has no table"
    assert repr(AddedErrors()) == "AddedErrors(0 layers)"


def test_markup_in_names_stays_text():
    listing = Listing("<i>", ("<b>",), (("<script>alert(1)</script>",),))
    assert "<script" not in listing._repr_html_()
    assert "<b>" not in listing._repr_html_()
    assert "<i>" not in listing._repr_html_()
