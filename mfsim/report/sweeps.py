"""Sweeps in a report: tables of all points, curves over each axis, bars of what each layer loses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from mfsim.analysis.sweeps import FIGURES, SweepReport, SweepRow, Value
from mfsim.report.charts import Axis, Bar, ChartRow, chart
from mfsim.report.curves import KINDS, Curve, curves
from mfsim.report.figures import MINUS, NONE, counted, decibel, integer, percent, significant
from mfsim.report.markup import Html, join, tag
from mfsim.report.pictures import Picture
from mfsim.report.tables import Table, Toned, folded

METHOD = (
    "A sweep gives the network's weights other words without training them again, compiles the integer program anew and "
    "runs every image bit for bit. Activation scales come from the statistics of calibration. Accumulator bits are those "
    "that the widest sum is proved to need, before an overflow rule acts."
)
"""How to read a sweep."""


def _text(value: Value) -> str:
    """Return a value on an axis; a dash stands for the network's own."""
    if value is None:
        return NONE
    return str(value).lower() if isinstance(value, bool) else str(value)


def place(report: SweepReport, row: SweepRow) -> str:
    """Return the label of a sweep point: its layer and its values.

    Parameters
    ----------
    report : SweepReport
        The sweep of the point.
    row : SweepRow
        The point.

    Returns
    -------
    str
        "own recipe" for point 0.
    """
    if not row.point:
        return "own recipe"
    values = [
        f"{axis} {_text(value)}" for axis, value in zip(report.axes, row.values, strict=True) if value is not None
    ]
    return ", ".join([row.layer, *values] if row.layer else values)


def sweep_table(report: SweepReport) -> Table:
    """Return the table of all points of a sweep that have run.

    Parameters
    ----------
    report : SweepReport
        The sweep.

    Returns
    -------
    Table
        One row for each point that has run; a dash in place of each figure of a failed one.
    """
    layer = ("Layer",) if report.sensitivity else ()
    columns = (
        ">Point", *layer, *(f">{axis}" for axis in report.axes), ">Accuracy", ">Against own", ">Agrees with float", ">SQNR",
        ">Mean error", ">Overflows", ">Accumulator bits", ">Weight bits", ">Operations", ">Multiplications", ">pJ", "Error",
    )  # fmt: skip
    own = report.own
    rows = []
    for row in report.rows:
        head = [str(row.point), *([row.layer or NONE] if report.sensitivity else []), *map(_text, row.values)]
        found = row.figures
        if found is None:
            rows.append([*head, *[NONE] * len(FIGURES[1:]), Toned(row.error, "bad")])
            continue
        against = NONE if own is None else points(found.accuracy - own.accuracy)
        rows.append(
            [
                *head,
                percent(found.accuracy),
                against,
                percent(found.top1),
                decibel(found.sqnr_db, found.mean_abs == 0),
                significant(found.mean_abs),
                integer(found.overflows),
                integer(found.accumulator_bits),
                integer(found.weight_bits),
                integer(found.operations),
                integer(found.multiplications),
                significant(found.pj),
                "",
            ]
        )
    missing = f", {counted(report.missing, 'point')} missing" if report.missing else ""
    outdated = ", of an earlier model.onnx" if report.outdated else ""
    return Table.of(f"Sweep {report.name}{outdated}{missing}", columns, rows, "sweeps")


def points(difference: float) -> str:
    """Return a difference of accuracies in points of percent, with its sign.

    Parameters
    ----------
    difference : float
        Difference of two accuracies in 0..1.

    Returns
    -------
    str
        Two decimals.
    """
    return f"{100 * difference + 0.0:+.2f}".replace("-", MINUS)  # nothing lost is -0.0 before the addition


def sweep_pictures(name: str, report: SweepReport) -> list[Picture]:
    """Return the pictures of a sweep; `name` makes ids unique.

    Parameters
    ----------
    name : str
        Prefix of the ids in the pictures.
    report : SweepReport
        The sweep.

    Returns
    -------
    list of Picture
        Bars by layer for a sensitivity sweep, else curves over each axis; those without numbers are left out.
    """
    if report.sensitivity:
        return [_bars(name, report)] if report.finished and report.own is not None else []
    made = (_over(name, report, k) for k in range(len(report.axes)))
    return [picture for picture in made if picture is not None]


def section(name: str, reports: Sequence[SweepReport]) -> Html | None:
    """Return the section of a network's sweeps, or None if it has none.

    Parameters
    ----------
    name : str
        Prefix of the ids in the pictures.
    reports : sequence of SweepReport
        Sweeps of the network.

    Returns
    -------
    Html or None
        A div element with pictures and folded tables.
    """
    if not reports:
        return None
    parts: list[Html] = []
    for k, report in enumerate(reports):
        figures = [picture.figure() for picture in sweep_pictures(f"{name}-sweep-{k + 1}", report)]
        table = sweep_table(report)
        parts += [tag("div", *figures, class_="pair"), folded(table, f"{table.caption} ({len(table.rows)})")]
    return tag("div", tag("h3", "Sweeps"), join(parts))


def _over(name: str, report: SweepReport, index: int) -> Picture | None:
    """Return the accuracy over one axis, a curve for each choice on the others if these are few."""
    axis = report.axes[index]
    places = list(dict.fromkeys(row.values[index] for row in report.finished))
    if len(places) < 2:
        return None
    found: dict[tuple[Value, ...], dict[Value, float]] = {}
    for row in report.finished:
        assert row.figures is not None
        others = (*row.values[:index], *row.values[index + 1 :])
        found.setdefault(others, {})[row.values[index]] = 100 * row.figures.accuracy
    names = [*report.axes[:index], *report.axes[index + 1 :]]
    if len(found) <= len(KINDS):
        lines = [
            Curve(
                ", ".join(f"{n} {_text(v)}" for n, v in zip(names, others, strict=True)) or "accuracy",
                kind,
                tuple(values.get(p) for p in places),
            )
            for (others, values), kind in zip(found.items(), itertools.cycle(KINDS))
        ]
    else:
        at = {p: [values[p] for values in found.values() if p in values] for p in places}
        lines = [
            Curve(f"best over {', '.join(names)}", KINDS[0], tuple(max(at[p]) for p in places)),
            Curve(f"worst over {', '.join(names)}", KINDS[4], tuple(min(at[p]) for p in places)),
        ]
    own = report.own
    labels = [_text(p) for p in places]
    description = "; ".join(
        f"{line.label}: "
        + ", ".join(f"{p} {v:.2f} %" for p, v in zip(labels, line.values, strict=True) if v is not None)
        for line in lines
    )
    note = "Integer accuracy on all images of the sweep"
    note += f"; the line across is the network's own recipe, {percent(own.accuracy)}." if own is not None else "."
    level = None if own is None else 100 * own.accuracy
    title = f"Accuracy over {axis}"
    picture = curves(f"{name}-{index}", title, description, labels, lines, Axis.over([100.0], "%"), level)
    stem = "-".join(["accuracy", *re.findall(r"\w+", axis)])
    return Picture(stem, title, note, tuple((line.kind, line.label) for line in lines), picture)


def _bars(name: str, report: SweepReport) -> Picture:
    """Return what each layer loses when it alone is changed."""
    own = report.own
    assert own is not None
    losses = [(row, 100 * (own.accuracy - row.figures.accuracy)) for row in report.finished if row.figures is not None]
    rows = [
        ChartRow(
            place(report, row),
            f"{points(-loss / 100)} points",
            (Bar(0, loss, "observed" if loss >= 0 else "exact"),),
        )
        for row, loss in losses
    ]
    description = "; ".join(f"{row.label}: {row.figure}" for row in rows)
    axis = Axis.over([loss for _, loss in losses], "points")
    entries = [("observed", "accuracy lost, longer is more sensitive")]
    if any(loss < 0 for _, loss in losses):
        entries.append(("exact", "accuracy gained"))
    title = "Sensitivity of layers"
    note = f"One layer at a time against the network's own recipe, {percent(own.accuracy)}."
    picture = chart(f"{name}-bars", title, description, rows, axis)
    return Picture("sensitivity", title, note, tuple(entries), picture)
