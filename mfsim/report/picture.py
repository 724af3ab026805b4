"""`Picture`: a chart with its caption, note and legend, as a figure of a page or as an SVG file of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mfsim.report.charts import legend
from mfsim.report.markup import Html, join, tag
from mfsim.report.style import STYLE

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
