"""The tables of a report on energy and on in-memory-compute arrays; a network without these has none."""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.analysis.energy import Spent, by_basis
from mfsim.report.figures import NONE, integer, percent, significant
from mfsim.report.result import NetworkResult
from mfsim.report.tables import Table, Toned

METHOD = (
    "Energy is that of counted operations, in pJ for one sample; moving data, clock and leakage are not in it. The table "
    "of what it rests on tells figures of a published table from interpolations, fits and estimates.",
    "On in-memory-compute arrays an MF product takes one bit-plane step for each bit of x and of w, a dense product one "
    "for each pair of bits. Converter bits missing are those that the array's converter lacks to tell all sums apart.",
)
"""How to read these numbers."""


def cim_tables(network: NetworkResult) -> list[Table]:
    """Return the tables of the arrays and of the energy that a network has, those with rows only.

    Parameters
    ----------
    network : NetworkResult
        A network, with or without `cim` and `energy`.

    Returns
    -------
    list of Table
        Energies in pJ of one sample; empty if it has neither.
    """
    made = []
    if network.cim is not None:
        made += [_nodes(network), _digital(network), _totals(network)]
        made.append(
            _basis(f"What the energy with {network.cim.array.name} rests on", network.cim.spent, "cim_energy_by_basis")
        )
    if network.energy is not None:
        rows = [(layer or NONE, significant(pj)) for layer, pj in network.energy.by_layer().items()]
        made.append(Table.of("Energy by layer, all in digital logic", ("Layer", ">pJ"), rows, "energy_by_layer"))
        made.append(_basis("What the energy in digital logic rests on", network.energy.rows, "energy_by_basis"))
    return [table for table in made if table.rows]


def _nodes(network: NetworkResult) -> Table:
    assert network.cim is not None
    columns = (
        "Node", "Op", ">Tiles", ">Steps", ">Steps if dense", ">Activations", ">Conversions", ">Adds outside",
        ">Cycles", ">Utilisation", ">Loss-free bits", ">Bits missing", ">pJ", ">pJ in logic",
    )  # fmt: skip
    rows = [
        (
            node.node,
            node.op,
            *(
                integer(value)
                for value in (
                    node.tiles,
                    node.steps,
                    node.dense_steps,
                    node.activations,
                    node.conversions,
                    node.adds,
                    node.cycles,
                )
            ),
            percent(node.utilisation),
            integer(node.lossless_bits),
            Toned(integer(node.missing_bits), "bad" if node.missing_bits else "good"),
            significant(node.pj),
            significant(node.digital_pj),
        )
        for node in network.cim.nodes
    ]
    return Table.of(f"On in-memory-compute arrays: {network.cim.array.name}", columns, rows, "cim_nodes")


def _digital(network: NetworkResult) -> Table:
    assert network.cim is not None
    rows = [
        (node.node, node.op, integer(node.operations), significant(node.pj), node.reason)
        for node in network.cim.digital
    ]
    columns = ("Node", "Op", ">Operations", ">pJ", "Why")
    return Table.of(f"Not on arrays of {network.cim.array.name}", columns, rows, "cim_digital")


def _totals(network: NetworkResult) -> Table:
    assert network.cim is not None
    rows = [
        (name.replace("_", " "), significant(value) if isinstance(value, float) else integer(value))
        for name, value in network.cim.summary().items()
        if value is None or isinstance(value, (int, float))
    ]
    return Table.of(f"Totals with {network.cim.array.name}", ("Quantity", ">Value"), rows, "cim_totals")


def _basis(caption: str, rows: Sequence[Spent], csv: str) -> Table:
    shown = [(basis, significant(pj), percent(part)) for basis, pj, part in by_basis(rows) if pj]
    return Table.of(caption, ("Basis", ">pJ", ">Share"), shown, csv)
