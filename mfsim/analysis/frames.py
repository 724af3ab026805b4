"""Listings as DataFrames: pandas, Polars, and whatever reads Arrow streams. None of these libraries is required.

A column is int64, float64 (integers among floats too), bool or text; None is null. Tuples are the texts that CSV has, and a
column of several kinds, or of integers outside int64, is text as well. A column of nothing but None has no type of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mfsim.errors import MissingLibraryError

if TYPE_CHECKING:
    from mfsim.analysis.listing import Cell, Listing

_PLAIN = {"int": "int64", "float": "float64", "bool": "bool", "text": "str", "null": "object"}

_NULLABLE = _PLAIN | {"int": "Int64", "float": "Float64", "bool": "boolean"}

_POLARS = {"int": "Int64", "float": "Float64", "bool": "Boolean", "text": "String", "null": "Null"}

_ARROW = {"int": "int64", "float": "float64", "bool": "bool_", "text": "string", "null": "null"}


def _typed_columns(listing: Listing) -> dict[str, tuple[str, list[Cell]]]:
    """Return kind (int, float, bool, text or null) and cells of each column of `listing`."""
    return {name: _typed([row[k] for row in listing.rows]) for k, name in enumerate(listing.columns)}


def to_pandas(listing: Listing) -> Any:
    """Return `listing` as a `pandas.DataFrame`; a column with None has a nullable type.

    Parameters
    ----------
    listing : Listing
        The table.

    Returns
    -------
    pandas.DataFrame
        One column for each of the listing.

    Raises
    ------
    MissingLibraryError
        If pandas is not installed.
    """
    pandas = _library("pandas", "a pandas DataFrame")
    columns = {
        name: pandas.array(cells, dtype=(_NULLABLE if None in cells else _PLAIN)[kind])
        for name, (kind, cells) in _typed_columns(listing).items()
    }
    return pandas.DataFrame(columns)


def to_polars(listing: Listing) -> Any:
    """Return `listing` as a `polars.DataFrame`.

    Parameters
    ----------
    listing : Listing
        The table.

    Returns
    -------
    polars.DataFrame
        One column for each of the listing.

    Raises
    ------
    MissingLibraryError
        If polars is not installed.
    """
    return _polars(listing, _library("polars", "a Polars DataFrame"))


def arrow_stream(listing: Listing, schema: object | None = None) -> object:
    """Return `listing` as an Arrow C stream, made by pyarrow or polars: one that the caller has imported, if any.

    Parameters
    ----------
    listing : Listing
        The table.
    schema : capsule of an Arrow schema or None
        The schema that the consumer asks for, handed to the library.

    Returns
    -------
    capsule
        An `ArrowArrayStream`.

    Raises
    ------
    MissingLibraryError
        If neither is installed.
    """
    makers: dict[str, Callable[[Listing, Any], Any]] = {"pyarrow": _arrow, "polars": _polars}
    for name in sorted(makers, key=lambda name: name not in sys.modules):
        try:
            library = import_module(name)
        except ImportError:
            continue
        return makers[name](listing, library).__arrow_c_stream__(schema)
    raise MissingLibraryError(
        "an Arrow stream needs pyarrow or polars, and neither is installed; run `pip install pyarrow`"
    )


def old_interchange(listing: Listing, allow_copy: bool) -> Any:
    """Return `listing` for the interchange protocol that pandas reads without pyarrow, and no longer from version 4 on.

    Parameters
    ----------
    listing : Listing
        The table.
    allow_copy : bool
        Whether the consumer may copy; handed to pandas.

    Returns
    -------
    object
        What `pandas.DataFrame.__dataframe__` returns.

    Raises
    ------
    MissingLibraryError
        If pandas would read other values: there None among bools is False, and integers beside None are floats.
    """
    for name, (kind, cells) in _typed_columns(listing).items():
        large = any(isinstance(cell, int) and abs(cell) > 2**53 for cell in cells)
        if None in cells and (kind == "bool" or (kind == "int" and large)):
            raise MissingLibraryError(
                f"pandas reads the column `{name}` of `{listing.name}` only with pyarrow; "
                "run `pip install pyarrow`, or call `to_pandas()`"
            )
    return to_pandas(listing).__dataframe__(allow_copy=allow_copy)


def _typed(cells: list[Cell]) -> tuple[str, list[Cell]]:
    kinds = {_kind(cell) for cell in cells} - {"null"}
    if not kinds:
        return "null", cells
    if kinds <= {"int", "float"}:
        kind = "float" if "float" in kinds else "int"
        return kind, [float(cell) if kind == "float" and isinstance(cell, int) else cell for cell in cells]
    if kinds == {"bool"}:
        return "bool", cells
    from mfsim.analysis.listing import cell_text

    return "text", [None if cell is None else cell_text(cell) for cell in cells]


def _kind(cell: Cell) -> str:
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return "bool"
    if isinstance(cell, int):
        return "int" if -(2**63) <= cell < 2**63 else "text"
    return "float" if isinstance(cell, float) else "text"


def _polars(listing: Listing, polars: Any) -> Any:
    columns = _typed_columns(listing)
    schema = {name: getattr(polars, _POLARS[kind]) for name, (kind, _) in columns.items()}
    return polars.DataFrame({name: cells for name, (_, cells) in columns.items()}, schema=schema)


def _arrow(listing: Listing, pyarrow: Any) -> Any:
    return pyarrow.table(
        {
            name: pyarrow.array(cells, type=getattr(pyarrow, _ARROW[kind])())
            for name, (kind, cells) in _typed_columns(listing).items()
        }
    )


def _library(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingLibraryError(f"{what} needs {name}, which is not installed; run `pip install {name}`") from error
