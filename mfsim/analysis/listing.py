"""A listing: the rows of one analysis under named columns, and the only way from them to CSV and JSON.

CSV and JSON are written from the same rows, and DataFrames too, so that they cannot say different things. A tuple is a
list in JSON and its entries with a space between in CSV; None is null and an empty cell.
"""

from __future__ import annotations

import csv
import io
import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.errors import MfsimError
from mfsim.files import write_whole

Cell = int | float | str | bool | None | tuple[int | str, ...]


@dataclass(frozen=True, repr=False)
class Listing(Tabular):
    """`rows` of cells under `columns`; `name` is the stem of its CSV file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of listing `{self.name}` must have {len(self.columns)} cells, not {len(row)}")

    @classmethod
    def of_records(cls, name: str, columns: Sequence[str], records: Sequence[Mapping[str, object]]) -> Listing:
        """Return the listing of `records`, each a mapping with exactly `columns` as keys.

        Parameters
        ----------
        name : str
            Stem of the CSV file.
        columns : sequence of str
            Names of the columns in order.
        records : sequence of mappings
            One for each row; lists become tuples.

        Returns
        -------
        Listing
            The rows in the order of `records`.

        Raises
        ------
        KeyError
            If a record lacks a column.
        """
        return cls(name, tuple(columns), tuple(tuple(_cell(record[c]) for c in columns) for record in records))

    def listings(self) -> list[Listing]:
        """Return this listing alone."""
        return [self]

    def headline(self) -> str:
        """Return name and size."""
        return f"{self.name}, {counted(len(self.rows), 'row')} of {counted(len(self.columns), 'column')}"

    def records(self) -> list[dict[str, object]]:
        """Return one dict for each row, with tuples as lists: what `json.dumps` takes."""
        return [
            {
                column: list(cell) if isinstance(cell, tuple) else cell
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]

    def csv(self) -> str:
        """Return the rows as CSV (RFC 4180, but lines end in a single line feed), columns first."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([cell_text(cell) for cell in row] for row in self.rows)
        return out.getvalue()


def _cell(value: object) -> Cell:
    return tuple(value) if isinstance(value, (list, tuple)) else value  # type: ignore[return-value]


def cell_text(cell: Cell) -> str:
    """Return the text of one CSV cell: true, false, an empty text for None, entries of a tuple with spaces.

    Parameters
    ----------
    cell : int, float, str, bool, None or tuple of int and str
        A cell of a listing.

    Returns
    -------
    str
        Not yet quoted for CSV.
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, tuple):
        return " ".join(cell_text(part) for part in cell)
    return str(cell)


def write_listings(listings: Sequence[Listing], folder: str | os.PathLike[str]) -> list[pathlib.Path]:
    """Write each listing as `<name>.csv` into `folder` (made if missing) and return the paths.

    Parameters
    ----------
    listings : sequence of Listing
        Tables with distinct names.
    folder : str or os.PathLike
        Where the files go.

    Returns
    -------
    list of pathlib.Path
        One path for each listing, in order.

    Raises
    ------
    MfsimError
        If the folder cannot be made or written to.
    """
    return [write_text(pathlib.Path(folder) / f"{listing.name}.csv", listing.csv()) for listing in listings]


def write_text(path: str | os.PathLike[str], text: str) -> pathlib.Path:
    """Write `text` (UTF-8) to `path` whole or not at all: beside it first, then renamed.

    Parameters
    ----------
    path : str or os.PathLike
        The file; its folder is made if missing.
    text : str
        The whole content.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    MfsimError
        If the folder cannot be made or written to.
    """
    path = pathlib.Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MfsimError(f"`{path}` cannot be written: {error.strerror or error}") from error
    return write_whole(path, text.encode())
