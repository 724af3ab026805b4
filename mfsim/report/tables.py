"""Tables that a person reads, defined once and written as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mfsim.report.markup import Html, join, tag


class Toned(str):
    """A cell with a colour: `tone` is "good", "bad" or "" for none."""

    tone: str

    def __new__(cls, value: str, tone: str) -> Toned:
        """Return `value` with `tone`."""
        made = super().__new__(cls, value)
        made.tone = tone
        return made


@dataclass(frozen=True)
class Column:
    """A column: its title, and whether its cells are numbers (set flush right)."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """Texts under columns; the first column names the row. `csv` is the file with the same data."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    csv: str = ""

    @classmethod
    def of(cls, caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], csv: str = "") -> Table:
        """Return a table from titles and texts; a column title with a leading ">" is numeric.

        Parameters
        ----------
        caption : str
            Caption of the table.
        columns : sequence of str
            Titles; a leading ">" is not shown.
        rows : sequence of sequences of str
            One text for each column.
        csv : str
            Name of the file with the same data; "" for none.

        Returns
        -------
        Table
            The table.
        """
        made = tuple(Column(title.removeprefix(">"), title.startswith(">")) for title in columns)
        return cls(caption, made, tuple(tuple(row) for row in rows), csv)


def to_html(table: Table, class_: str = "") -> Html:
    """Return `table` in a box that scrolls sideways on a narrow page and can be reached by keyboard.

    Parameters
    ----------
    table : Table
        The table.
    class_ : str
        Class of the table element; "" for none.

    Returns
    -------
    Html
        A div element with the table.
    """
    head = tag("tr", *(tag("th", c.title, scope="col", class_="n" if c.numeric else None) for c in table.columns))
    body = [
        tag(
            "tr",
            *(
                tag("th", cell, scope="row") if k == 0 else tag("td", cell, class_=_classes(column, cell))
                for k, (column, cell) in enumerate(zip(table.columns, row, strict=True))
            ),
        )
        for row in table.rows
    ]
    return tag(
        "div",
        tag(
            "table", tag("caption", _caption_of(table)), tag("thead", head), tag("tbody", *body), class_=class_ or None
        ),
        class_="scroll",
        role="region",
        tabindex="0",
        aria_label=table.caption,
    )


def _classes(column: Column, cell: str) -> str | None:
    tone = cell.tone if isinstance(cell, Toned) else ""
    return " ".join(filter(None, ("n" if column.numeric else "", tone))) or None


def _caption_of(table: Table) -> Html:
    """Return the caption with a link to the CSV file behind the table."""
    if not table.csv:
        return tag("span", table.caption)
    return join([tag("span", table.caption), " ", tag("a", "CSV", href=f"csv/{table.csv}.csv", class_="csv")])


def folded(table: Table, summary: str = "") -> Html:
    """Return `table` folded away under a line that opens it.

    Parameters
    ----------
    table : Table
        The table.
    summary : str
        The line; by default the caption and the number of rows.

    Returns
    -------
    Html
        A details element.
    """
    return tag("details", tag("summary", summary or f"{table.caption} ({len(table.rows)})"), to_html(table))


def to_markdown(table: Table) -> str:
    """Return `table` as a Markdown table under its caption in bold.

    Parameters
    ----------
    table : Table
        The table; numeric columns are set flush right.

    Returns
    -------
    str
        Caption, header, rule and rows, each line with a line feed.
    """
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    lines = [
        [markdown_text(c.title) for c in table.columns],
        rule,
        *([markdown_text(cell) for cell in row] for row in table.rows),
    ]
    return f"**{markdown_text(table.caption)}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def markdown_text(value: str) -> str:
    """Return `value` escaped for Markdown, on one line.

    Parameters
    ----------
    value : str
        Any text.

    Returns
    -------
    str
        Special characters with a backslash, line ends as spaces.
    """
    one_line = " ".join(value.split("\n")).replace("\r", " ")
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#~&" else c for c in one_line)
