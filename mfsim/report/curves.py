"""Curves as inline SVG that follow the width of the page, in the manner of `mfsim.report.charts`.

Places lie at equal distances in the order given, so that a word such as "proved" can stand among numbers
of bits. Horizontal places are percentages and there is no viewBox; heights are pixels.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from mfsim.report.charts import Axis
from mfsim.report.figures import short
from mfsim.report.markup import Html, join, tag

HEIGHT = 220
TOP = 18
LABELS = 24
LEFT, RIGHT = 12.0, 96.0
"""First and last place in percent of the width; tick labels stand left of the first."""

KINDS = ("add", "cmp", "lut", "other", "shift", "sign")
"""Colour classes of curves, in this order; the colour of multiplications is not among them."""


@dataclass(frozen=True)
class Curve:
    """One curve: its name, its colour class, and a value at each place; None is a gap."""

    label: str
    kind: str
    values: tuple[float | None, ...]


def curves(
    name: str,
    title: str,
    description: str,
    places: Sequence[str],
    lines: Sequence[Curve],
    axis: Axis,
    level: float | None,
) -> Html:
    """Return a line chart as inline SVG; `level` is marked all along the width.

    Parameters
    ----------
    name : str
        Prefix of the ids in the picture.
    title, description : str
        What screen readers say.
    places : sequence of str, at least one
        Labels at equal distances along the width.
    lines : sequence of Curve
        Each with one value or None for every place.
    axis : Axis
        The vertical axis.
    level : float or None
        A value on the axis, or None for no mark.

    Returns
    -------
    Html
        An svg element, its height in pixels and its width that of the page.
    """
    body = [
        tag("title", title, id=f"{name}-title"),
        tag("desc", description, id=f"{name}-desc"),
        *(_tick(axis, tick) for tick in axis.ticks),
        *(
            tag("text", place, x=_at(k, len(places)), y=TOP + HEIGHT + 16, class_="tick", text_anchor="middle")
            for k, place in enumerate(places)
        ),
    ]
    if level is not None:
        y = _height(axis, level)
        body.append(tag("line", x1="0%", x2="100%", y1=y, y2=y, class_="level"))
    body += [_curve(line, places, axis) for line in lines]
    return tag(
        "svg",
        join(body),
        class_="chart",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        width="100%",
        height=TOP + HEIGHT + LABELS,
    )


def _at(place: int, places: int) -> str:
    part = place / (places - 1) if places > 1 else 0.5
    return f"{LEFT + (RIGHT - LEFT) * part:.4g}%"


def _height(axis: Axis, value: float) -> str:
    return f"{TOP + HEIGHT * (1 - axis.at(value) / 100):.1f}"


def _tick(axis: Axis, tick: float) -> Html:
    y = _height(axis, tick)
    label = f"{short(tick)} {axis.unit}".strip() if tick == axis.ticks[-1] else short(tick)
    return join(
        [
            tag("line", x1="0%", x2="100%", y1=y, y2=y, class_="zero" if tick == axis.lo else "grid"),
            tag("text", label, x="0", y=f"{float(y) - 4:.1f}", class_="tick"),
        ]
    )


def _curve(line: Curve, places: Sequence[str], axis: Axis) -> Html:
    spots = [
        None if value is None else (_at(k, len(places)), _height(axis, value)) for k, value in enumerate(line.values)
    ]
    parts = [
        tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1])
        for start, end in itertools.pairwise(spots)
        if start is not None and end is not None
    ]
    for place, spot, value in zip(places, spots, line.values, strict=True):
        if spot is not None:
            tip = f"{line.label}, {place}: {value:.4g} {axis.unit}".strip()
            parts.append(tag("circle", tag("title", tip), cx=spot[0], cy=spot[1], r="3.5"))
    return tag("g", join(parts), class_=f"curve {line.kind}")
