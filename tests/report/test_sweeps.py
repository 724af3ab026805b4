"""Sweeps in the report: places of dots and bars, gaps, tables, and pictures as files of their own."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from mfsim.analysis.sweeps import SweepReport
from mfsim.report import write_report
from mfsim.report.charts import Axis
from mfsim.report.curves import HEIGHT, TOP, Curve, curves
from mfsim.report.sweeps import place, points, sweep_pictures, sweep_table
from tests.analysis.programs import mixed
from tests.report.networks import result
from tests.report.sweeps import many, product, sensitivity


def dots(markup):
    """Return (place, accuracy) of every dot in percent; a pixel is 0.45 %, and heights have a tenth of it."""
    found = re.findall(r'cx="([\d.]+)%" cy="([\d.]+)"', markup)
    return [(float(x), round(100 * (1 - (float(y) - TOP) / HEIGHT), 1)) for x, y in found]


def test_a_curve_for_each_choice_on_the_other_axes():
    over_weight, over_activation = sweep_pictures("s", product())
    assert [text for _, text in over_weight.keys] == ["activation@head 4", "activation@head 6"]
    assert dots(over_weight.svg) == [(12, 25), (96, 75), (12, 50), (96, 100)]
    assert dots(over_activation.svg) == [(12, 25), (96, 50), (12, 75), (96, 100)]
    assert [over_weight.stem, over_activation.stem] == ["accuracy-weight", "accuracy-activation-head"]


def test_the_networks_own_recipe_is_a_line_across():
    markup = sweep_pictures("s", product())[0].svg
    (y,) = re.findall(r'y1="([\d.]+)" y2="[\d.]+" class="level"', markup)
    assert float(y) == pytest.approx(TOP + HEIGHT * 0.05, abs=0.05), "one decimal of a pixel"
    without = replace(product(), rows=product().rows[1:])
    assert "level" not in sweep_pictures("s", without)[0].svg


def test_a_point_that_is_missing_leaves_a_gap():
    axis = Axis.over([100.0])
    line = Curve("c", "add", (1.0, 2.0, None, 3.0, 4.0, 5.0))
    markup = curves("n", "t", "d", list("abcdef"), [line], axis, None)
    assert len(re.findall(r"<circle", markup)) == 5
    assert len(re.findall(r'<line x1="[\d.]+%" y1', markup)) == 3


def test_many_choices_become_the_best_and_the_worst():
    picture = sweep_pictures("s", many())[0]
    assert [text for _, text in picture.keys] == ["best over activation", "worst over activation"]
    # (w + 1)(a + 1) / 14: best at a = 6, worst at a = 0.
    assert dots(picture.svg) == [(12, 50), (96, 100), (12, 7.1), (96, 14.3)]


def test_an_axis_with_one_value_has_no_curve():
    report = product()
    one = tuple(row for row in report.rows if row.values[0] in (None, 2))
    assert [picture.stem for picture in sweep_pictures("s", replace(report, rows=one))] == ["accuracy-activation-head"]


def test_bars_of_what_each_layer_loses():
    (picture,) = sweep_pictures("s", sensitivity())
    assert picture.stem == "sensitivity"
    bars = re.findall(r'x="([\d.]+)%" y="\d+" width="([\d.]+)%" height="12" class="(observed|exact)"', picture.svg)
    # The axis goes from -20 to 30 points; 0 lies at 40 %. Losses: 25, 12.5 and -12.5 points.
    assert bars == [("40", "50", "observed"), ("40", "25", "observed"), ("15", "25", "exact")]
    assert "\N{MINUS SIGN}25.00 points" in picture.svg
    assert "conv&lt;2&gt;, weight 4" in picture.svg


def test_nothing_lost_has_no_minus():
    assert [points(-0.0), points(0.0), points(-0.125)] == ["+0.00", "+0.00", "\N{MINUS SIGN}12.50"]


def test_bars_need_the_networks_own_accuracy():
    report = sensitivity()
    assert sweep_pictures("s", replace(report, rows=report.rows[1:])) == []
    assert sweep_pictures("s", replace(report, rows=report.rows[:1])) == []


def test_the_table_says_what_failed_is_missing_or_outdated():
    table = sweep_table(product())
    assert table.caption == "Sweep both, 1 point missing"
    assert table.rows[-1][-1] == "it failed"
    assert table.rows[1][:5] == ("1", "2", "4", "25.00\N{NARROW NO-BREAK SPACE}%", "\N{MINUS SIGN}70.00")
    assert sweep_table(replace(sensitivity(), outdated=True)).caption == "Sweep one, of an earlier model.onnx"


def test_what_a_point_is_called():
    assert [place(product(), row) for row in product().rows[:2]] == ["own recipe", "weight 2, activation@head 4"]
    assert place(sensitivity(), sensitivity().rows[1]) == "conv1, weight 4"


@pytest.mark.parametrize("report", [product(), many(), sensitivity()], ids=lambda report: report.name)
def test_a_picture_is_a_file_of_its_own(report):
    for picture in sweep_pictures("s", report):
        root = ET.fromstring(picture.file())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == picture.caption
        assert {text for _, text in picture.keys} <= set(texts)


def test_the_report_of_a_network_shows_its_sweeps(tmp_path):
    network = result("m", mixed(), sweeps=(product(), sensitivity()))
    page = write_report([network, result("other", mixed())], tmp_path).read_text()
    assert page.count("<h3>Sweeps</h3>") == 1
    assert "Accuracy over weight" in page
    assert "Sensitivity of layers" in page
    assert "A sweep gives the network&#x27;s weights other words" in page
    content = json.loads((tmp_path / "report.json").read_text())["networks"]
    assert [SweepReport.from_json(sweep) for sweep in content[0]["sweeps"]] == [product(), sensitivity()]
    assert content[1]["sweeps"] == []
    assert len((tmp_path / "csv" / "sweeps.csv").read_text().splitlines()) == 11
    assert "**Sweep both, 1 point missing**" in (tmp_path / "report.md").read_text()


def test_ids_of_pictures_are_unique_in_a_page(tmp_path):
    networks = [result(name, mixed(), sweeps=(product(), sensitivity())) for name in "ab"]
    ids = re.findall(r' id="([^"]+)"', write_report(networks, tmp_path).read_text())
    assert len(ids) == len(set(ids))
