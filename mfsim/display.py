"""Tables for people: aligned text for a terminal, HTML for a notebook.

The HTML stands alone: its colours are those of the text around it, so that it suits light and dark pages, and every text is
escaped.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

WIDEST = 60
"""Characters of a cell; what is longer is cut."""

MOST_ROWS = 500
"""Rows of an HTML table; below stands how many more there are."""

_LINE = "border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)"
_CELL = f"padding:.2em .7em;white-space:nowrap;vertical-align:top;{_LINE}"


def cut(text: str, most: int = WIDEST) -> str:
    """Return `text` on one line of at most `most` characters (at least 1), the last one `…` if something is left out.

    Parameters
    ----------
    text : str
        Text; runs of white space become one space.
    most : int
        Most characters, at least 1.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> cut("conv1.weight", 8)
    'conv1.w…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def figure(cell: object) -> str:
    """Return the text of a cell for a person: thousands apart, six digits of a float, `-` for None.

    Parameters
    ----------
    cell : object
        Value of a cell; a tuple or list is shown entry by entry.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> figure(1234567), figure(0.1 + 0.2), figure(None), figure((8, 17)), figure(True)
    ('1,234,567', '0.3', '-', '8 17', 'yes')
    """
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.6g}"
    if isinstance(cell, (tuple, list)):
        return " ".join(str(part) for part in cell)
    return str(cell)


def counted(number: int, noun: str) -> str:
    """Return the number with its noun, which takes an `s` unless there is one.

    Parameters
    ----------
    number : int
        Number of things.
    noun : str
        Noun in the singular.

    Returns
    -------
    str
        Number and noun.

    Examples
    --------
    >>> counted(1, "node"), counted(1200, "row")
    ('1 node', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def text_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return lines of aligned columns under their names; numbers are flush right.

    Parameters
    ----------
    columns : names; `_` is shown as a space
    rows : one cell for each column

    >>> print(text_table(["layer", "mul"], [["fc1", 1200], ["fc2", 7]]))
    layer    mul
    fc1    1,200
    fc2        7
    """
    right = _numeric(columns, rows)
    lines = [[name.replace("_", " ") for name in columns], *([cut(figure(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def html_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return one HTML table, in a box that scrolls where it is too wide.

    Parameters
    ----------
    caption : text above the table
    columns, rows : as for `text_table`; of the rows the first `MOST_ROWS` are shown
    """
    align = ["right" if flush else "left" for flush in _numeric(columns, rows)]

    def line(tag: str, cells: Sequence[str]) -> str:
        made = (
            f'<{tag} style="{_CELL};text-align:{side}">{html.escape(cell)}</{tag}>'
            for cell, side in zip(cells, align, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    head = line("th", [name.replace("_", " ") for name in columns])
    body = "".join(line("td", [cut(figure(cell), 4 * WIDEST) for cell in row]) for row in rows[:MOST_ROWS])
    more = f"<p>{counted(len(rows) - MOST_ROWS, 'more row')}</p>" if len(rows) > MOST_ROWS else ""
    return (
        '<div style="overflow-x:auto;color:inherit">'
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums;color:inherit;background:none">'
        f'<caption style="text-align:left;font-weight:600;padding:.3em .7em;color:inherit">{html.escape(caption)}</caption>'
        f"<thead>{head}</thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _numeric(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[bool]:
    """Return for each column whether it holds numbers, and besides them nothing but None."""
    kinds = [{type(row[k]) for row in rows} - {type(None)} for k in range(len(columns))]
    return [bool(found) and found <= {int, float} for found in kinds]
