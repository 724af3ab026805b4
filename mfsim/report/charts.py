"""Bar charts as inline SVG that follow the width of the page.

A row is a line of text (name on the left, figure on the right) above a bar. Horizontal places are
percentages and there is no viewBox, so a narrow page makes bars shorter and never text smaller. Colours
are classes of the style sheet, so that light, dark and print need no second picture. Every picture has a
title and a description, and stands beside a table with the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mfsim.report.figures import short
from mfsim.report.markup import Html, join, tag

ROW_HEIGHT = 38
BAR_HEIGHT = 12
BAR_TOP = 19
AXIS_HEIGHT = 24
LONGEST_LABEL = 40


@dataclass(frozen=True)
class Axis:
    """A linear axis over lo..hi (lo < hi), with `ticks` in it."""

    lo: float
    hi: float
    ticks: tuple[float, ...]
    unit: str = ""

    @classmethod
    def over(cls, values: Sequence[float], unit: str = "", whole: bool = False) -> Axis:
        """Return an axis from 0 (or below) to a round number past all `values`; `whole` keeps ticks whole.

        Parameters
        ----------
        values : sequence of float
            Finite values in the unit of the axis; may be empty.
        unit : str
            Unit of the values, such as "dB"; "" for none.
        whole : bool
            Whether ticks are whole numbers.

        Returns
        -------
        Axis
            At most seven ticks at distances of 1, 2, 5 or 10 times a power of ten.
        """
        least, most = min([0.0, *values]), max([0.0, *values])
        if least == most:
            most = 1.0
        span = most - least
        magnitude = 10.0 ** math.floor(math.log10(span / 4))
        step = next(magnitude * f for f in (1, 2, 5, 10) if span / (magnitude * f) <= 5)
        if whole:
            step = max(1.0, float(math.ceil(step)))
        first, last = math.floor(least / step), math.ceil(most / step)
        return cls(first * step, last * step, tuple(k * step for k in range(first, last + 1)), unit)

    def at(self, value: float) -> float:
        """Return the place of `value` in percent of the width.

        Parameters
        ----------
        value : float
            In the unit of the axis.

        Returns
        -------
        float
            0 at `lo`, 100 at `hi`.
        """
        return 100.0 * (value - self.lo) / (self.hi - self.lo)


@dataclass(frozen=True)
class Bar:
    """One piece of a row from `start` to `end` in the unit of the axis; `kind` is its colour class."""

    start: float
    end: float
    kind: str
    tip: str = ""


@dataclass(frozen=True)
class ChartRow:
    """One row: its name, the figure shown, and its bars, later ones on top."""

    label: str
    figure: str
    bars: tuple[Bar, ...]


def chart(name: str, title: str, description: str, rows: Sequence[ChartRow], axis: Axis) -> Html:
    """Return a horizontal bar chart as inline SVG; `name` is unique in the page.

    Parameters
    ----------
    name : str
        Prefix of the ids in the picture.
    title, description : str
        What screen readers say.
    rows : sequence of ChartRow
        Rows from top to bottom.
    axis : Axis
        The horizontal axis of all bars.

    Returns
    -------
    Html
        An svg element, its height in pixels and its width that of the page.
    """
    bottom = ROW_HEIGHT * len(rows)
    body = [
        tag("title", title, id=f"{name}-title"),
        tag("desc", description, id=f"{name}-desc"),
        *(_grid_line(axis, tick, bottom) for tick in axis.ticks if tick != axis.lo),
        *(_row(row, axis, ROW_HEIGHT * k) for k, row in enumerate(rows)),
        *(_tick(axis, tick, bottom + 16) for tick in axis.ticks),
    ]
    return tag(
        "svg",
        join(body),
        class_="chart",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        width="100%",
        height=bottom + AXIS_HEIGHT,
    )


def legend(entries: Sequence[tuple[str, str]]) -> Html:
    """Return the legend of a chart.

    Parameters
    ----------
    entries : sequence of (str, str)
        Colour class of the style sheet, and text.

    Returns
    -------
    Html
        A ul element.
    """
    items = [tag("li", tag("span", class_=f"swatch {kind}", aria_hidden="true"), text) for kind, text in entries]
    return tag("ul", *items, class_="legend")


def _place(percentage: float) -> str:
    return f"{percentage:.4g}%"


def _row(row: ChartRow, axis: Axis, top: int) -> Html:
    label = row.label
    if len(label) > LONGEST_LABEL:
        half = LONGEST_LABEL // 2
        label = f"{label[: half - 1]}…{label[-half:]}"
    bars = []
    for bar in row.bars:
        left, right = axis.at(min(bar.start, bar.end)), axis.at(max(bar.start, bar.end))
        bars.append(
            tag(
                "rect",
                tag("title", bar.tip or f"{row.label}: {row.figure}"),
                x=_place(left),
                y=top + BAR_TOP,
                width=_place(right - left),
                height=BAR_HEIGHT,
                class_=bar.kind,
            )
        )
    return tag(
        "g",
        tag("text", label, tag("title", row.label), x="0", y=top + 13, class_="label"),
        tag("text", row.figure, x="100%", y=top + 13, class_="figure", text_anchor="end"),
        tag("rect", x="0", y=top + BAR_TOP, width="100%", height=BAR_HEIGHT, class_="track"),
        join(bars),
    )


def _grid_line(axis: Axis, tick: float, bottom: int) -> Html:
    place = _place(axis.at(tick))
    return tag("line", x1=place, x2=place, y1="16", y2=bottom, class_="zero" if tick == 0 else "grid")


def _tick(axis: Axis, tick: float, y: int) -> Html:
    anchor = {axis.ticks[0]: "start", axis.ticks[-1]: "end"}.get(tick, "middle")
    label = f"{short(tick)} {axis.unit}".strip() if tick == axis.ticks[-1] else short(tick)
    return tag("text", label, x=_place(axis.at(tick)), y=y, class_="tick", text_anchor=anchor)
