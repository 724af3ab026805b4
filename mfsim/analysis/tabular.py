"""`Tabular`: what every result with tables can do: be shown as text and in notebooks, and become a DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from mfsim.analysis import frames
from mfsim.display import html_table, text_table
from mfsim.errors import MfsimError, did_you_mean

if TYPE_CHECKING:
    from mfsim.analysis.listing import Listing


class Tabular(ABC):
    """A result that has tables.

    `repr` is one line, `print` shows an aligned table under that line, and notebooks show it as HTML. `polars.DataFrame`,
    `pyarrow.table`, `pandas.api.interchange.from_dataframe` and others take a result as it is, and get its main table.
    """

    MAIN: ClassVar[str] = ""
    """Name of the main table; the first one if empty."""

    @abstractmethod
    def listings(self) -> list[Listing]:
        """Return every table."""

    def headline(self) -> str:
        """Return what the result says, in a few words."""
        return ""

    def overview(self) -> Listing:
        """Return the table that is shown to people; by default the main one."""
        return self.table()

    def table(self, name: str = "") -> Listing:
        """Return one table.

        Parameters
        ----------
        name : of one of `listings()`; by default that of the main one

        Raises
        ------
        MfsimError
            If there is no such table.
        """
        listings = {listing.name: listing for listing in self.listings()}
        if not listings:
            raise MfsimError(f"this {type(self).__name__} has no table")
        chosen = name or self.MAIN or next(iter(listings))
        if chosen not in listings:
            raise MfsimError(
                f"`table` must be one of {', '.join(listings)}, not {chosen!r}{did_you_mean(chosen, listings)}"
            )
        return listings[chosen]

    def to_pandas(self, table: str = "") -> Any:
        """Return a table as a `pandas.DataFrame`, with nullable types where something is missing.

        Parameters
        ----------
        table : name of one of `listings()`; by default that of the main one

        Raises
        ------
        MissingLibraryError
            If pandas is not installed.
        MfsimError
            If there is no such table.
        """
        return frames.to_pandas(self.table(table))

    def to_polars(self, table: str = "") -> Any:
        """Return a table as a `polars.DataFrame`.

        Parameters
        ----------
        table : name of one of `listings()`; by default that of the main one

        Raises
        ------
        MissingLibraryError
            If polars is not installed.
        MfsimError
            If there is no such table.
        """
        return frames.to_polars(self.table(table))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the main table as an Arrow stream, see `mfsim.analysis.frames.arrow_stream`."""
        return frames.arrow_stream(self.table(), requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """Return the main table for pandas without pyarrow, see `mfsim.analysis.frames.old_interchange`."""
        return frames.old_interchange(self.table(), allow_copy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.headline()})"

    def __str__(self) -> str:
        shown = self.overview()
        return f"{self!r}\n\n{text_table(shown.columns, shown.rows)}"

    def _repr_html_(self) -> str:
        shown = self.overview()
        return html_table(repr(self), shown.columns, shown.rows)
