"""The pictures of the report: which numbers become which bars, and a chart with caption, note and legend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mfsim.analysis.layers import LayerRow
from mfsim.report.charts import Axis, Bar, ChartRow, chart, legend
from mfsim.report.figures import decibel, integer, percent
from mfsim.report.markup import Html, join, tag
from mfsim.report.result import NetworkResult
from mfsim.report.style import STYLE

# `Picture`: a chart with its caption, note and legend, as a figure of a page or as an SVG file of its own.

WIDTH, MARGIN, LINE = 760, 24, 20
"""Pixels of a file: its width, its margins, and the height of a line of text."""

FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif'


@dataclass(frozen=True)
class Picture:
    """A chart: `stem` names its file, `keys` are (colour class, text) of its legend."""

    stem: str
    caption: str
    note: str
    keys: tuple[tuple[str, str], ...]
    svg: Html

    def figure(self) -> Html:
        """Return the figure of a page."""
        caption = tag("figcaption", tag("strong", self.caption), tag("span", self.note, class_="note"))
        return tag("figure", caption, legend(self.keys), self.svg)

    def file(self) -> str:
        """Return the text of an SVG file that needs nothing else."""
        found = re.search(r'^<svg[^>]* height="(\d+)"', self.svg)
        assert found is not None, "a chart has a height"
        top = MARGIN + LINE * (2 + len(self.keys))
        height = top + int(found[1]) + MARGIN
        keys = [
            join(
                [
                    tag("rect", x=MARGIN, y=MARGIN + LINE * (2 + k) - 11, width=12, height=12, class_=kind),
                    tag("text", label, x=MARGIN + 20, y=MARGIN + LINE * (2 + k)),
                ]
            )
            for k, (kind, label) in enumerate(self.keys)
        ]
        picture = tag(
            "svg",
            tag("style", Html(STYLE)),
            tag("rect", width="100%", height="100%", style="fill:var(--card)"),
            tag(
                "g",
                tag("text", self.caption, x=MARGIN, y=MARGIN, font_weight="bold"),
                tag("text", self.note, x=MARGIN, y=MARGIN + LINE, style="fill:var(--soft)"),
                *keys,
                class_="chart",
            ),
            tag("svg", self.svg, x=MARGIN, y=top, width=WIDTH - 2 * MARGIN, height=height - top, overflow="visible"),
            xmlns="http://www.w3.org/2000/svg",
            width=WIDTH,
            height=height,
            font_family=FONT,
        )
        return f"{picture}\n"


# The pictures of the report: which numbers become which bars.

GROUPS = (
    ("mul", "multiply, divide, root", ("mul", "div", "sqrt")),
    ("add", "add, subtract", ("addsub",)),
    ("sign", "sign, negate, magnitude", ("sign", "neg", "abs")),
    ("cmp", "compare, select", ("cmp", "select")),
    ("shift", "shift, or", ("shift", "or")),
    ("lut", "table lookup", ("lut",)),
)
"""Colour class, legend, primitives: the primitives that one colour stands for."""

SPREAD = 20
"""Totals further apart than this share no linear axis; the bars then show shares."""


def _figure(caption: str, note: str, keys: Html, picture: Html) -> Html:
    """Return a picture with its caption, a note on how to read it, and its legend."""
    return tag("figure", tag("figcaption", tag("strong", caption), tag("span", note, class_="note")), keys, picture)


def operations(networks: Sequence[NetworkResult]) -> Html:
    """Return the stacked bar chart of operations by primitive, one bar for each network.

    Parameters
    ----------
    networks : sequence of NetworkResult, at least one
        One row each.

    Returns
    -------
    Html
        A figure of operations of one sample, or of their shares in percent where the totals lie too far apart.
    """
    totals = [network.counts.total for network in networks]
    shares = max(totals) > SPREAD * max(1, min(totals))
    rows, used = [], set()
    for network, total in zip(networks, totals, strict=True):
        counts = network.counts.by_primitive()
        unit = 100 / max(1, total) if shares else 1
        bars, start = [], 0
        for kind, title, primitives in _groups(counts):
            number = sum(counts.get(name, 0) for name in primitives)
            if number:
                used.add((kind, title))
                tip = f"{network.name}: {integer(number)} {title} ({percent(number / total)})"
                bars.append(Bar(start * unit, (start + number) * unit, kind, tip))
                start += number
        multiplied = f", {integer(network.multiplications)} of them multiplications" if network.multiplications else ""
        rows.append(ChartRow(network.name, f"{integer(total)}{multiplied}", tuple(bars)))
    axis = Axis.over([100.0], "%") if shares else Axis.over([float(t) for t in totals])
    note = "Share of the operations of one sample." if shares else "Operations of one sample, linear scale."
    description = "; ".join(f"{row.label}: {row.figure} operations" for row in rows)
    keys = legend([(kind, title) for kind, title, _ in [*GROUPS, OTHER] if (kind, title) in used])
    picture = chart("chart-operations", "Operations by primitive", description, rows, axis)
    return _figure("Operations by primitive", note, keys, picture)


OTHER = ("other", "other", ())
"""Colour class and legend of primitives that are in no group."""


def _groups(counts: dict[str, int]) -> list[tuple[str, str, tuple[str, ...]]]:
    known = {name for _, _, names in GROUPS for name in names}
    return [*GROUPS, (OTHER[0], OTHER[1], tuple(name for name in counts if name not in known))]


def bits(name: str, layers: Sequence[LayerRow]) -> Html:
    """Return the bar chart of proved against observed bits of the widest value of each layer.

    Parameters
    ----------
    name : str
        Prefix of the ids in the picture.
    layers : sequence of LayerRow
        One row each; those without observed bits show the proved ones alone.

    Returns
    -------
    Html
        A figure in bits.
    """
    rows = []
    for layer in layers:
        shown = layer.layer or "(no layer)"
        bars = [Bar(0, layer.proved_bits, "proved", f"{shown}, {layer.widest}: {layer.proved_bits} bits proved")]
        if layer.observed_bits is None:
            text = f"{layer.proved_bits} proved"
        else:
            text = f"{layer.observed_bits} of {layer.proved_bits}"
            bars.append(
                Bar(0, layer.observed_bits, "observed", f"{shown}, {layer.widest}: {layer.observed_bits} bits observed")
            )
        rows.append(ChartRow(shown, text, tuple(bars)))
    description = "; ".join(f"{row.label}: {row.figure} bits" for row in rows)
    axis = Axis.over([layer.proved_bits for layer in layers], "bits", whole=True)
    keys = legend([("observed", "bits observed"), ("proved", "bits proved, never exceeded")])
    picture = chart(f"{name}-bits", "Bits per layer", description, rows, axis)
    return _figure("Bits per layer", "Widest value of each layer.", keys, picture)


def errors(name: str, layers: Sequence[LayerRow]) -> Html | None:
    """Return the bar chart of the SQNR of each layer that has one, or None if no layer has.

    Parameters
    ----------
    name : str
        Prefix of the ids in the picture.
    layers : sequence of LayerRow
        Layers in order; those without SQNR that are not exact are left out.

    Returns
    -------
    Html or None
        A figure in dB.
    """
    known = [layer for layer in layers if layer.exact or layer.sqnr_db is not None]
    if not known:
        return None
    values = [layer.sqnr_db for layer in known if layer.sqnr_db is not None]
    axis = Axis.over(values or [60.0], "dB")
    rows = []
    for layer in known:
        ratio = layer.sqnr_db
        bar = Bar(0, axis.hi, "exact") if ratio is None else Bar(0, ratio, "ratio" if ratio >= 0 else "mul")
        rows.append(ChartRow(layer.layer or "(no layer)", decibel(ratio, layer.exact), (bar,)))
    description = "; ".join(f"{row.label}: {row.figure}" for row in rows)
    entries = [("ratio", "SQNR against float, longer is better")]
    if any(layer.exact for layer in known):
        entries.append(("exact", "equal to float"))
    picture = chart(f"{name}-errors", "Error by layer", description, rows, axis)
    return _figure(
        "Error by layer", "Signal to quantization noise of the value each layer hands on.", legend(entries), picture
    )
