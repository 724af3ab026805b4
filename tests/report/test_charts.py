"""Charts: places of bars, axes, and when a picture changes its form."""

from __future__ import annotations

import re

import pytest

from mfsim.analysis.layers import LayerRow
from mfsim.report import pictures
from mfsim.report.charts import Axis, Bar, ChartRow, chart
from mfsim.report.pictures import GROUPS, bits, errors, operations
from tests.analysis.programs import mixed, one
from tests.report.networks import result


def layer(**values):
    row = {
        "layer": "l", "ops": ("relu",), "input_words": (), "weight_words": (), "accumulators": (), "output_words": (), "widest": "t",
        "proved_lo": 0, "proved_hi": 9, "proved_bits": 4, "observed_lo": 0, "observed_hi": 3, "observed_bits": 2, "overflows": None,
        "sqnr_db": None, "exact": None, "weight_bytes": 0, "operations": {},
    }  # fmt: skip
    return LayerRow(**(row | values))


def widths_of(markup, kind):
    return [float(w) for w in re.findall(rf'width="([\d.]+)%" height="12" class="{kind}"', markup)]


@pytest.mark.parametrize(
    ("values", "hi", "ticks"),
    [([7], 8, 5), ([100], 100, 6), ([0], 1, 6), ([123456], 150000, 4), ([0.004], 0.004, 5), ([1e12], 1e12, 6)],
)
def test_axis_ends_on_a_round_number_past_the_values(values, hi, ticks):
    axis = Axis.over(values)
    assert axis.hi == pytest.approx(hi, rel=1e-9)
    assert (axis.lo, len(axis.ticks)) == (0.0, ticks)


def test_axis_goes_below_zero_when_values_do():
    axis = Axis.over([-12.0, 30.0])
    assert axis.lo <= -12 < 0 < 30 <= axis.hi
    assert 0.0 in axis.ticks


def test_axis_of_bits_has_whole_ticks():
    assert Axis.over([1, 2], whole=True).ticks == (0.0, 1.0, 2.0)


def test_bars_are_in_proportion():
    axis = Axis(0, 20, (0, 10, 20))
    markup = chart("c", "t", "d", [ChartRow("r", "5", (Bar(5, 10, "add"), Bar(10, 20, "mul")))], axis)
    assert widths_of(markup, "add") == [25.0]
    assert widths_of(markup, "mul") == [50.0]
    assert 'x="25%"' in markup


def test_long_name_keeps_both_ends_and_its_whole_name_as_a_tip():
    name = "blocks.10.attention.output.projection.input_quantizer"
    markup = chart("c", "t", "d", [ChartRow(name, "1", ())], Axis(0, 1, (0, 1)))
    assert f">blocks.10.attention…tion.input_quantizer<title>{name}</title>" in markup


def test_bits_show_observed_inside_proved():
    markup = bits("n", [layer(proved_bits=16, observed_bits=12), layer(proved_bits=8, observed_bits=None)])
    assert widths_of(markup, "proved") == [80.0, 40.0]
    assert widths_of(markup, "observed") == [60.0]
    assert "12 of 16" in markup
    assert "8 proved" in markup


def test_error_of_an_exact_layer_fills_the_axis_and_a_missing_one_has_no_row():
    markup = errors(
        "n", [layer(sqnr_db=30.0, exact=False), layer(sqnr_db=15.0, exact=False), layer(exact=True), layer()]
    )
    assert widths_of(markup, "ratio") == [100.0, 50.0]
    assert widths_of(markup, "exact") == [100.0]
    assert markup.count('class="track"') == 3
    assert errors("n", [layer()]) is None


def test_negative_sqnr_goes_left_from_zero_in_the_colour_of_trouble():
    markup = errors("n", [layer(sqnr_db=-10.0, exact=False), layer(sqnr_db=30.0, exact=False)])
    assert widths_of(markup, "mul") == [25.0]
    assert widths_of(markup, "ratio") == [75.0]
    assert re.findall(r'x="([\d.]+)%" y="\d+" width="[\d.]+%" height="12" class="(mul|ratio)"', markup) == [
        ("0", "mul"),
        ("25", "ratio"),
    ]


def test_operations_are_stacked_and_multiplications_are_named():
    network = result("m", mixed())
    markup = operations([network])
    total, axis = network.counts.total, Axis.over([float(network.counts.total)])
    places = [w for kind in ("add", "mul", "sign", "cmp", "shift", "lut") for w in widths_of(markup, kind)]
    assert sum(places) == pytest.approx(100 * total / axis.hi, rel=1e-3), "four digits are written"
    assert "32 of them multiplications" in markup


def test_totals_far_apart_are_shown_as_shares():
    small, large = result("s", one("relu", (2,))), result("l", one("wht", (1024,)))
    markup = operations([small, large])
    assert "Share of the operations" in markup
    assert widths_of(markup, "cmp") == widths_of(markup, "add") == [100.0]
    assert "Share" not in operations([large, large])


def test_network_without_operations_has_an_empty_bar():
    assert 'class="track"' in operations([result("none", one("shift", (2,), {"exponents": (1,)}))])


def test_primitive_that_no_group_knows_is_shown_as_other(monkeypatch):
    monkeypatch.setattr(pictures, "GROUPS", GROUPS[:1])
    assert widths_of(operations([result("w", one("wht", (8,)))]), "other") != []
