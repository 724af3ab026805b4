"""Error that each integer function adds: its codes against its float function of the same input codes.

Errors against a float network say how far a layer has come from it with all that lies in front. Here both sides get the
quantized input, so what differs is the integer algorithm alone: tables, roundings, estimates. The quantizer behind, which may
saturate, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from mfsim.analysis.listing import Listing
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted


@dataclass(frozen=True)
class AddedError:
    """What one layer adds, in LSB of its result.

    Attributes
    ----------
    layer, function : its path, and the class of the layer.
    values : how many results were compared.
    max_lsb, mean_lsb : of the magnitude of the difference; 1/2 is what rounding alone can give.
    differ : share of codes other than the rounded float value.
    """

    layer: str
    function: str
    values: int
    max_lsb: float
    mean_lsb: float
    differ: float


@dataclass(frozen=True, repr=False)
class AddedErrors(Tabular):
    """Added errors in the order of the layers; none for a network without integer functions."""

    rows: tuple[AddedError, ...] = ()

    def headline(self) -> str:
        """Return how many layers there are."""
        return counted(len(self.rows), "layer")

    def listings(self) -> list[Listing]:
        """Return the table, if it has rows."""
        columns = tuple(field.name for field in fields(AddedError))
        return [Listing("added_errors", columns, tuple(astuple(row) for row in self.rows))] if self.rows else []

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as `json.dumps` takes them."""
        return [record for listing in self.listings() for record in listing.records()]

    @classmethod
    def from_records(cls, records: list[Mapping[str, Any]]) -> AddedErrors:
        """Return the report whose rows `records` gave.

        Parameters
        ----------
        records : list of mappings
            One for each row, its keys the fields of `AddedError`; errors in LSB.

        Returns
        -------
        AddedErrors
            The rows in the same order.
        """
        return cls(tuple(AddedError(**record) for record in records))
