"""`map_program`: what a program costs on arrays, node by node, and what stays in digital logic.

Every node stands in exactly one of two lists: on arrays, or digital with the reason and its operations
from the full count. Energies of both are in pJ for one sample.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import ClassVar

from mfsim import ops
from mfsim.analysis.count import count
from mfsim.analysis.energy import Spent, Technology, by_basis, energy, share, summed
from mfsim.analysis.listing import Cell, Listing, write_listings
from mfsim.analysis.tabular import Tabular
from mfsim.cim import converter
from mfsim.cim.array import CimArray
from mfsim.cim.mapping import place_dense, place_node, why_digital
from mfsim.cim.parts import Outside, Part
from mfsim.display import counted
from mfsim.ir.program import Node, Program
from mfsim.ir.stages import stages
from mfsim.keywords import check_keywords
from mfsim.ops.traits import Trait


@dataclass(frozen=True)
class CimNode:
    """A node on arrays: sums over its parts, for one sample.

    `steps` are bit-plane steps of an output, passes left out. `dense_...` are those of a dense product of
    the same words on the same array, None for a transform. `adds` are additions and subtractions outside
    the arrays. `pj` is the energy on arrays and behind them, `digital_pj` that of the node all in digital
    logic. `missing_bits` is the worst of its parts.
    """

    layer: str
    node: str
    op: str
    tiles: int
    steps: int
    dense_steps: int | None
    activations: int
    dense_activations: int | None
    conversions: int
    dense_conversions: int | None
    adds: int
    cycles: int
    cycles_of_one_array: int
    cells: int
    cells_used: int
    utilisation: float
    lossless_bits: int
    missing_bits: int
    pj: float
    digital_pj: float


@dataclass(frozen=True)
class DigitalNode:
    """A node that stays in digital logic, its operations and why it is not on an array.

    `behind` is the node at the head of its stage, whose results it treats, on arrays or not; "" for one that is the head.
    """

    layer: str
    node: str
    op: str
    operations: int
    pj: float
    reason: str
    behind: str


@dataclass(frozen=True, repr=False)
class CimReport(Tabular):
    """A program on arrays, for one sample.

    Attributes
    ----------
    array, technology : what it was mapped to.
    nodes : nodes on arrays; `parts` are their halves, and `outside` the operations behind them.
    digital : all other nodes.
    spent : energy, by what was executed.
    all_digital_pj : energy of the whole program in digital logic.
    """

    MAIN: ClassVar[str] = "cim_nodes"

    array: CimArray
    technology: Technology
    nodes: tuple[CimNode, ...]
    parts: tuple[Part, ...]
    outside: tuple[Outside, ...]
    digital: tuple[DigitalNode, ...]
    spent: tuple[Spent, ...]
    all_digital_pj: float

    @property
    def total_pj(self) -> float:
        """Energy of one sample: arrays, adders behind them, and digital nodes."""
        return sum(row.pj for row in self.spent)

    @property
    def estimated_share(self) -> float:
        """The part of the energy in 0..1 that rests on estimates."""
        return share(self.spent, "estimate")

    @property
    def cycle_ns(self) -> float | None:
        """Nanoseconds of a cycle: the array's own, else the delay of a conversion by its fit; None if nothing is on arrays."""
        if self.array.cycle_ns is not None or not self.parts:
            return self.array.cycle_ns
        bits = converter.used_bits(self.array, max(part.lossless_bits for part in self.parts))
        return converter.conversion_ns(bits, self.array.terms)

    def summary(self) -> dict[str, Cell]:
        """Return the totals; utilisation is None where nothing is on arrays."""
        sums = {
            name: sum(getattr(node, name) for node in self.nodes)
            for name in (
                "tiles",
                "cells",
                "cells_used",
                "activations",
                "conversions",
                "adds",
                "cycles",
                "cycles_of_one_array",
            )
        }
        return {
            "nodes_on_arrays": len(self.nodes),
            "nodes_digital": len(self.digital),
            **sums,
            "utilisation": sums["cells_used"] / sums["cells"] if sums["cells"] else None,
            "missing_bits": max((node.missing_bits for node in self.nodes), default=0),
            "digital_operations": sum(node.operations for node in self.digital),
            "microseconds": None if self.cycle_ns is None else sums["cycles"] * self.cycle_ns / 1000,
            "total_pj": self.total_pj,
            "array_nodes_pj": sum(node.pj for node in self.nodes),
            "digital_nodes_pj": sum(node.pj for node in self.digital),
            "all_digital_pj": self.all_digital_pj,
            "estimated_share": self.estimated_share,
        }

    def headline(self) -> str:
        """Return where the nodes are, and the energy in all."""
        return (
            f"{counted(len(self.nodes), 'node')} on arrays {self.array.name}, {len(self.digital):,} digital, "
            f"{self.total_pj:,.6g} pJ for one sample"
        )

    def overview(self) -> Listing:
        """Return the totals."""
        return self.table("cim_totals")

    def listings(self) -> list[Listing]:
        """Return every table of the report."""
        return [
            Listing("cim_totals", ("quantity", "value"), tuple(self.summary().items())),
            _table("cim_nodes", CimNode, self.nodes),
            _table("cim_parts", Part, self.parts),
            _table("cim_outside", Outside, self.outside),
            _table("cim_digital", DigitalNode, self.digital),
            _table("cim_energy", Spent, self.spent),
            Listing(
                "cim_energy_by_primitive", ("primitive", "pj"), tuple(summed(self.spent, lambda r: r.primitive).items())
            ),
            Listing("cim_energy_by_basis", ("basis", "pj", "share"), by_basis(self.spent)),
            Listing(
                "cim_sources",
                ("what", "figure", "source"),
                (("array", self.array.name, self.array.source), *self.technology.sources(), *converter.SOURCES),
            ),
        ]

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it: the array, each listing as records, the totals as one dict."""
        records = {listing.name: listing.records() for listing in self.listings()}
        return {"array": self.array.to_json(), "per": "sample", **records, "cim_totals": self.summary()}

    def write_csv(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Write each listing as a CSV file into `folder` and return the paths.

        Parameters
        ----------
        folder : str or os.PathLike
            Where the files `<listing>.csv` go; made if missing.

        Returns
        -------
        list of pathlib.Path
            One path for each listing.

        Raises
        ------
        MfsimError
            If the folder cannot be made or written to.
        """
        return write_listings(self.listings(), folder)


def _table(name: str, kind: type, rows: Sequence[object]) -> Listing:
    return Listing(name, tuple(f.name for f in fields(kind)), tuple(astuple(row) for row in rows))  # type: ignore[call-overload]


@check_keywords
def map_program(program: Program, array: CimArray, technology: Technology | None = None) -> CimReport:
    """Return what `program` costs on arrays of one kind; every other node is named as digital.

    Parameters
    ----------
    program : the integer program.
    array : a description, or one of `mfsim.cim.ARRAYS`.
    technology : of the digital logic; by default `Technology()`.

    Returns
    -------
    CimReport
        Parts, digital operations and energy in pJ of one sample.

    Raises
    ------
    CountError
        If a node cannot be counted.
    """
    table = technology or Technology()
    digital_energy = energy(count(program), table)
    in_logic = digital_energy.by_node()
    nodes, parts, outside, digital = [], [], [], []
    spent: list[Spent] = []
    heads = {node.name: stage.node.name for stage in stages(program) for node in stage.behind}
    for node in program.nodes:
        reason = why_digital(node, program, array)
        if reason:
            rows = [row for row in digital_energy.rows if row.node == node.name]
            operations = sum(row.count for row in rows)
            text = reason if operations else f"{reason}; nothing is computed"
            pj, behind_node = in_logic.get(node.name, 0.0), heads.get(node.name, "")
            digital.append(DigitalNode(node.layer, node.name, node.op, operations, pj, text, behind_node))
        else:
            made, behind = place_node(node, program, array)
            rows = [*_analog(made, array), *_logic(node, behind, table)]
            dense = None if node.op not in ops.named(Trait.PRODUCT) else place_dense(node, program, array)[0]
            nodes.append(_node(node, made, behind, dense, sum(row.pj for row in rows), in_logic[node.name]))
            parts += made
            outside += behind
        spent += rows
    return CimReport(
        array,
        table,
        tuple(nodes),
        tuple(parts),
        tuple(outside),
        tuple(digital),
        tuple(spent),
        digital_energy.total_pj,
    )


def _node(
    node: Node, parts: list[Part], behind: list[Outside], dense: list[Part] | None, pj: float, digital_pj: float
) -> CimNode:
    def total(name: str, of: Iterable[Part] | None = None) -> int:
        return sum(getattr(part, name) for part in (parts if of is None else of))

    return CimNode(
        node.layer,
        node.name,
        node.op,
        tiles=total("tiles"),
        steps=total("steps"),
        dense_steps=None if dense is None else total("steps", dense),
        activations=total("activations"),
        dense_activations=None if dense is None else total("activations", dense),
        conversions=total("conversions"),
        dense_conversions=None if dense is None else total("conversions", dense),
        adds=sum(row.count for row in behind if row.primitive == "addsub"),
        cycles=total("cycles"),
        cycles_of_one_array=total("cycles_of_one_array"),
        cells=total("cells"),
        cells_used=total("cells_used"),
        utilisation=total("cells_used") / total("cells"),
        lossless_bits=max(part.lossless_bits for part in parts),
        missing_bits=max(part.missing_bits for part in parts),
        pj=pj,
        digital_pj=digital_pj,
    )


def _analog(parts: list[Part], array: CimArray) -> list[Spent]:
    """Return the energy of conversions, lines and cells; a line that carries signs or one bit needs no DAC."""
    found = []
    for part in parts:
        where = (part.layer, part.node, part.op)
        bits = converter.used_bits(array, part.lossless_bits)
        drive = part.driven_bits
        found += [
            Spent.of(where, "conversion", (bits,), part.conversions, converter.conversion(array, bits)),
            Spent.of(where, "line", (drive,), part.lines_driven, converter.line(drive, array.vdd)),
            Spent.of(where, "cell", (array.cell_bits,), part.cells_active, converter.cell(array.vdd)),
        ]
    return found


def _logic(node: Node, behind: list[Outside], technology: Technology) -> list[Spent]:
    where = (node.layer, node.name, node.op)
    return [
        Spent.of(where, row.primitive, (row.bits,), row.count, technology.cost(row.primitive, (row.bits,)))
        for row in behind
    ]
