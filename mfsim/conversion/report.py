"""`Conversion`: a converted network, and what became of each of its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from mfsim.keywords import check_constructor

Table = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]


@dataclass(frozen=True)
class Change:
    """A layer that was converted.

    Attributes
    ----------
    layer : its module path.
    was, became : in a few words.
    parameters_before, parameters_after : trained numbers.
    kept : what the new layer has from the old one; empty if nothing.
    note : why it lacks something, and how it starts instead.
    rule : the pattern that asked for it.
    also_at : other paths of the same module.
    """

    layer: str
    was: str
    became: str
    parameters_before: int
    parameters_after: int
    kept: tuple[str, ...]
    note: str
    rule: str
    also_at: tuple[str, ...] = ()


@dataclass(frozen=True)
class Left:
    """A module without submodules, or with parameters of its own, that stays; `rule` is the pattern that keeps it.

    The network itself, if it has parameters of its own, is the layer `(network)`.
    """

    layer: str
    kind: str
    parameters: int
    rule: str = ""


@check_constructor
@dataclass(frozen=True, eq=False)
class Conversion:
    """Result of `mfsim.convert`: the model, and what became of each layer.

    Attributes
    ----------
    model : the converted copy.
    changes, left : each layer of the given network once, in its order.
    parameters_before, parameters_after : trained numbers of the whole network.
    """

    model: nn.Module
    changes: tuple[Change, ...]
    left: tuple[Left, ...]
    parameters_before: int
    parameters_after: int

    def to_json(self) -> dict[str, Any]:
        """Return everything but the model, as `json.dumps` takes it."""
        return {
            "changes": [asdict(change) for change in self.changes],
            "left": [asdict(entry) for entry in self.left],
            "parameters_before": self.parameters_before,
            "parameters_after": self.parameters_after,
        }

    def tables(self) -> tuple[Table, Table]:
        """Return columns and rows for a person: of the changes, and of what was left."""
        changes = [
            (c.layer, c.was, c.became, f"{c.parameters_before:,} to {c.parameters_after:,}", _notes(c))
            for c in self.changes
        ]
        left = [(e.layer, e.kind, f"{e.parameters:,}") for e in self.left]
        return (("layer", "was", "became", "parameters", "kept"), changes), (("layer", "class", "parameters"), left)

    def text(self) -> str:
        """Return the report as lines of text."""
        changes, left = self.tables()
        return "\n".join((*_aligned(*changes), "", "left as they are:", *_aligned(*left), "", self.summary()))

    def summary(self) -> str:
        """Return the report in one sentence."""
        return (
            f"{len(self.changes)} layers converted, {len(self.left)} left; "
            f"{self.parameters_before:,} parameters before, {self.parameters_after:,} after"
        )


def _notes(change: Change) -> str:
    """Return what a change kept, its note, and where else its module stands."""
    also = f"also at {', '.join(change.also_at)}" if change.also_at else ""
    parts = (", ".join(change.kept) or "nothing", change.note, also)
    return "; ".join(part for part in parts if part)


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows under columns, padded with spaces."""
    widths = [max(len(row[k]) for row in (columns, *rows)) for k in range(len(columns))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (columns, *rows)
    ]
