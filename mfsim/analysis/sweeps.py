"""What a sweep found: one row for each point, with its figures or the sentence why it has none.

Point 0 has the network's own recipe; the others are compared to it. A point that has not run is in no
row: `missing` says how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

from mfsim.analysis.listing import Cell, Listing
from mfsim.analysis.tabular import Tabular
from mfsim.errors import ModelError

Value = int | str | bool | None
"""A value on an axis; None is the network's own."""


@dataclass(frozen=True)
class SweepFigures:
    """Figures of one point.

    Attributes
    ----------
    samples, correct, accuracy : images that ran, those classified correctly, and their part in 0..1.
    top1, sqnr_db, mean_abs : logits against those of the float network: agreement of the greatest in 0..1, signal
        to quantization noise, mean error; None where that does not exist.
    overflows : codes that an overflow rule changed.
    accumulator_bits : proved bits of the widest value that leaves a node.
    weight_bits : memory of all weights, biases and thresholds.
    operations, multiplications : of one sample.
    pj : energy of the counted operations of one sample.
    """

    samples: int
    correct: int
    accuracy: float
    top1: float | None
    sqnr_db: float | None
    mean_abs: float
    overflows: int
    accumulator_bits: int
    weight_bits: int
    operations: int
    multiplications: int
    pj: float


FIGURES = tuple(field.name for field in fields(SweepFigures))


@dataclass(frozen=True)
class SweepRow:
    """One point: its number, the layer that alone was changed ("" for none), its values, its figures or its error."""

    point: int
    layer: str
    values: tuple[Value, ...]
    figures: SweepFigures | None
    error: str = ""


@dataclass(frozen=True, repr=False)
class SweepReport(Tabular):
    """The finished points of a sweep.

    Attributes
    ----------
    name : unique among the sweeps of a network.
    axes : names of the axes, in the order of the rows' values.
    sensitivity : whether one layer is changed at a time.
    points : how many the sweep has in all.
    rows : those that ran, by number.
    about : texts: what was swept, with which data.
    outdated : whether the network has another model.onnx by now.
    """

    name: str
    axes: tuple[str, ...]
    sensitivity: bool
    points: int
    rows: tuple[SweepRow, ...]
    about: Mapping[str, str]
    outdated: bool = False

    @property
    def own(self) -> SweepFigures | None:
        """The figures of the network's own recipe; None if that has not run."""
        return next((row.figures for row in self.rows if row.point == 0), None)

    @property
    def finished(self) -> tuple[SweepRow, ...]:
        """The rows with figures, point 0 left out."""
        return tuple(row for row in self.rows if row.point and row.figures is not None)

    @property
    def failed(self) -> tuple[SweepRow, ...]:
        """The rows with an error."""
        return tuple(row for row in self.rows if row.error)

    @property
    def missing(self) -> int:
        """How many points have not run."""
        return self.points - len(self.rows)

    def headline(self) -> str:
        """Return how many points have run."""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{self.name}, {len(self.rows):,} of {self.points:,} points have run{failed}"

    def listings(self) -> list[Listing]:
        """Return the table of all rows."""
        return [self.listing()]

    def listing(self) -> Listing:
        """Return the table of all rows: `sweep.csv`."""
        layer = ("layer",) if self.sensitivity else ()
        rows = [
            (row.point, *((row.layer,) if self.sensitivity else ()), *row.values, *_cells(row), row.error)
            for row in self.rows
        ]
        return Listing("sweep", ("point", *layer, *self.axes, *FIGURES, "error"), tuple(rows))

    def to_json(self) -> dict[str, Any]:
        """Return the report as `json.dumps` takes it."""
        return {
            "name": self.name,
            "about": dict(self.about),
            "axes": list(self.axes),
            "sensitivity": self.sensitivity,
            "points": self.points,
            "missing": self.missing,
            "rows": [
                {
                    "point": row.point,
                    "layer": row.layer,
                    "values": list(row.values),
                    "figures": asdict(row.figures) if row.figures is not None else None,
                    "error": row.error,
                }
                for row in self.rows
            ],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> SweepReport:
        """Return the report that `to_json` wrote.

        Parameters
        ----------
        content : mapping
            What `json.loads` made of a sweep.json.

        Returns
        -------
        SweepReport
            The report, never marked as outdated.

        Raises
        ------
        ModelError
            If something is missing or of another form.
        """
        try:
            rows = tuple(
                SweepRow(
                    row["point"],
                    row["layer"],
                    tuple(row["values"]),
                    SweepFigures(**row["figures"]) if row["figures"] is not None else None,
                    row["error"],
                )
                for row in content["rows"]
            )
            return cls(
                content["name"],
                tuple(content["axes"]),
                content["sensitivity"],
                content["points"],
                rows,
                dict(content["about"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"sweep.json is not what `mfsim sweep` writes: {error!r}") from error


def sweeps_listing(reports: Sequence[SweepReport]) -> Listing:
    """Return the rows of several sweeps in one table, with a column for each axis of any of them.

    Parameters
    ----------
    reports : sequence of SweepReport
        Sweeps of one network.

    Returns
    -------
    Listing
        One row for each point; None on the axes that a sweep does not have.
    """
    axes = dict.fromkeys(axis for report in reports for axis in report.axes)
    columns = ("sweep", "point", "layer", *axes, *FIGURES, "error")
    records = [
        dict.fromkeys(axes)
        | {"layer": None, "sweep": report.name}
        | dict(zip(report.listing().columns, row, strict=True))
        for report in reports
        for row in report.listing().rows
    ]
    return Listing.of_records("sweeps", columns, records)


def _cells(row: SweepRow) -> tuple[Cell, ...]:
    return astuple(row.figures) if row.figures is not None else (None,) * len(FIGURES)
