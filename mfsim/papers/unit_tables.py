"""Listings of what attention units execute, beside closed forms, and why the two differ where they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mfsim.analysis.count import PRIMITIVES
from mfsim.analysis.listing import Cell, Listing
from mfsim.errors import CountError
from mfsim.ops.op import MULTIPLIED_BY
from mfsim.papers.closed_forms import closed_form
from mfsim.papers.units import PARTS, SETTINGS, Setting, Unit, counts

CLASSES = tuple(f"mul {by}" for by in MULTIPLIED_BY)
COUNTED = tuple(p for name in PRIMITIVES for p in (CLASSES if name == "mul" else (name,)))
"""What is counted, in the order of columns."""

WHY: dict[tuple[str, str], str] = {
    ("normaliser", "addsub"): "a weight is rounded: half of the row sum is added before each division",
    ("normaliser", "shift"): (
        "rounding doubles every numerator and every row sum; the factor 1 / sqrt(n) lies in the table and shifts nothing"
    ),
    ("transforms", "addsub"): "each turned bin, each bin times a gain, each root and each result of the fixed-point "
    "transform is rounded",
    ("transforms", "shift"): "guard bits of the fixed-point transform, and its roundings",
    (
        "transforms",
        "mul fixed",
    ): "the two real bins take sqrt(1/2) each, as log2 n is odd; other bins take it under the root",
    ("normaliser", "select"): "a step of a maximum is a comparison and a selection",
    ("normaliser", "neg"): "the quotient of magnitudes gets its sign back",
    ("mf value", "neg"): "Q and K keep grids of their own: each part is negated by a sign before the one addition",
    ("mf value", "abs"): "the form abs is taken literally: a magnitude of each operand",
    ("projections", "addsub"): "a triangular layer has no bias, so its sums begin with their first product",
}
"""Why a part executes another number of a primitive than its closed form says."""


def per_layer(unit: Unit, setting: Setting) -> Counter[str]:
    """Return the operations of one layer, {primitive: count}."""
    return sum(counts(unit, setting).values(), Counter())


def unit_listing(units: Iterable[Unit]) -> Listing:
    """Return operations of one attention layer, by unit, beside the additions of closed forms."""
    rows: list[tuple[Cell, ...]] = []
    for setting in SETTINGS:
        for unit in units:
            found, formula = per_layer(unit, setting), sum(closed_form(unit, setting).values(), Counter())
            agree = all(found[name] == formula[name] for name in CLASSES)
            rows.append(
                (
                    setting.model,
                    unit.name,
                    *(found[name] for name in CLASSES),
                    agree,
                    found["addsub"],
                    formula["addsub"],
                    found["addsub"] - formula["addsub"],
                )
            )
    columns = (
        *("model", "unit", *(name.replace(" ", "_") for name in CLASSES), "as_closed_form"),
        *("addsub", "addsub_closed_form", "difference"),
    )
    return Listing("attention_layer", columns, tuple(rows))


def primitive_listing(units: Iterable[Unit]) -> Listing:
    """Return every primitive of one attention layer, by unit."""
    rows: list[tuple[Cell, ...]] = []
    for setting in SETTINGS:
        for unit in units:
            found = per_layer(unit, setting)
            rows.append((setting.model, unit.name, *(found[name] for name in COUNTED)))
    return Listing(
        "attention_layer_primitives", ("model", "unit", *(c.replace(" ", "_") for c in COUNTED)), tuple(rows)
    )


def differences(unit: Unit, setting: Setting) -> dict[tuple[str, str], int]:
    """Return {(part, primitive): ours minus closed form} of one layer, where it is not 0.

    Raises
    ------
    CountError
        If a difference has no reason in `WHY`.
    """
    ours, formula = counts(unit, setting), closed_form(unit, setting)
    found = {
        (part, name): ours[part][name] - formula[part][name]
        for part in PARTS
        for name in COUNTED
        if ours[part][name] != formula[part][name]
    }
    for place in found:
        if place not in WHY:
            raise CountError(
                f"the count of {place[1]} in the {place[0]} of `{unit.name}` differs for an unknown reason"
            )
    return found


def difference_listing(units: Iterable[Unit]) -> Listing:
    """Return the differences from closed forms and their reasons; units that differ alike share a row."""
    alike: dict[tuple[str, str, str, int], list[str]] = {}
    for setting in SETTINGS:
        for unit in units:
            for (part, name), amount in differences(unit, setting).items():
                alike.setdefault((setting.model, part, name, amount), []).append(unit.name)
    return _reasons(alike)


def _reasons(alike: Mapping[tuple[str, str, str, int], list[str]]) -> Listing:
    columns = ("model", "part", "primitive", "difference", "units", "why")
    rows = tuple(
        (model, part, name, amount, ", ".join(units), WHY[part, name])
        for (model, part, name, amount), units in alike.items()
    )
    return Listing("attention_layer_differences", columns, rows)
