"""One row for each layer: what the other analyses say about it, side by side.

Ranges and bits are those of the widest value that leaves a node of the layer (its joined accumulator
where it has one): the value that decides how wide the hardware of the layer is.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass

from mfsim.analysis.count import PRIMITIVES, CountReport
from mfsim.analysis.error import ErrorReport, layer_outputs
from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.memory import MemoryReport
from mfsim.analysis.tabular import Tabular
from mfsim.analysis.widths import Width, WidthReport
from mfsim.display import counted
from mfsim.ir.program import Node, Program


@dataclass(frozen=True)
class LayerRow:
    """One layer.

    Words are texts such as "s8" (signed, 8 bits) and "u5", each once, in order of appearance.
    `input_words` are those of values made outside the layer, `output_words` those of values that are read
    outside it, `accumulators` have the form "acc_x:s17". `sqnr_db` is that of the value that the layer
    hands on; `exact` tells an exact result from a missing figure. `operations` are by primitive.
    """

    layer: str
    ops: tuple[str, ...]
    input_words: tuple[str, ...]
    weight_words: tuple[str, ...]
    accumulators: tuple[str, ...]
    output_words: tuple[str, ...]
    widest: str
    proved_lo: int | None
    proved_hi: int | None
    proved_bits: int
    observed_lo: int | None
    observed_hi: int | None
    observed_bits: int | None
    overflows: int | None
    sqnr_db: float | None
    exact: bool | None
    weight_bytes: int
    operations: dict[str, int]


@dataclass(frozen=True, repr=False)
class LayerReport(Tabular):
    """The layers of a program in order; `primitives` are the columns of their operations."""

    rows: tuple[LayerRow, ...]
    primitives: tuple[str, ...]

    def headline(self) -> str:
        """Return how many layers there are."""
        return counted(len(self.rows), "layer")

    def overview(self) -> Listing:
        """Return words, bits and operations of each layer, all primitives together."""
        columns = (
            "layer",
            "ops",
            "input_words",
            "weight_words",
            "output_words",
            "proved_bits",
            "sqnr_db",
            "weight_bytes",
        )
        rows = ((*(getattr(row, name) for name in columns), sum(row.operations.values())) for row in self.rows)
        return Listing("layers", (*columns, "operations"), tuple(rows))

    def listings(self) -> list[Listing]:
        """Return the table of layers, its operations with one column for each primitive and `total`."""
        plain = [name for name in LayerRow.__dataclass_fields__ if name != "operations"]
        rows = [
            (
                *(getattr(row, name) for name in plain),
                *(row.operations.get(primitive, 0) for primitive in self.primitives),
                sum(row.operations.values()),
            )
            for row in self.rows
        ]
        return [Listing("layers", (*plain, *self.primitives, "total"), tuple(rows))]

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it."""
        return {listing.name: listing.records() for listing in self.listings()}

    def write_csv(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Write `layers.csv` into `folder` and return its path in a list.

        Parameters
        ----------
        folder : str or os.PathLike
            Where `layers.csv` goes; made if missing.

        Returns
        -------
        list of pathlib.Path
            The one path written.

        Raises
        ------
        MfsimError
            If the folder cannot be made or written to.
        """
        return write_listings(self.listings(), folder)


def layers(
    program: Program, counts: CountReport, words: WidthReport, memory: MemoryReport, errors: ErrorReport | None = None
) -> LayerReport:
    """Return one row for each layer of `program` from the other analyses of the same program.

    Parameters
    ----------
    program : Program
        The integer program.
    counts : CountReport
        Operations of one sample, by layer and primitive.
    words : WidthReport
        Proved and, if simulated, observed ranges of every value, in codes and bits.
    memory : MemoryReport
        Memory of one sample; the bytes of its weights are taken.
    errors : ErrorReport or None
        Errors against the float reference; without, `sqnr_db` and `exact` are None.

    Returns
    -------
    LayerReport
        One row for each layer, in the order of the program.
    """
    handed_on = layer_outputs(program)
    by_layer = counts.by_layer()
    of_tensor = {row.tensor: row for row in errors.rows} if errors is not None else {}
    weights: dict[str, int] = {}
    for tensor in memory.tensors:
        if tensor.kind == "weight":
            weights[tensor.layer] = weights.get(tensor.layer, 0) + tensor.bytes
    rows = []
    for layer in program.layers():
        nodes = [node for node in program.nodes if node.layer == layer]
        inside = {name for node in nodes for name in node.outputs}
        edges = [row for row in words.rows if row.layer == layer and row.kind == "edge"]
        widest = max(edges, key=lambda row: row.proved_bits)
        error = of_tensor.get(handed_on[layer])
        rows.append(
            LayerRow(
                layer,
                _unique(node.op for node in nodes),
                _words(program, [name for node in nodes for name in node.inputs if name not in inside], constant=False),
                _words(program, [name for node in nodes for name in node.inputs], constant=True),
                _unique(f"{word}:{format_}" for node in nodes for word, format_ in node.words.items()),
                _words(program, _read_outside(program, nodes, inside), constant=False),
                widest.name,
                *_ranges(widest),
                _sum_known([row.overflows for row in edges]),
                error.sqnr_db if error else None,
                error.exact if error else None,
                weights.get(layer, 0),
                by_layer[layer],
            )
        )
    return LayerReport(tuple(rows), (*PRIMITIVES, *(name for name in counts.primitives if name not in PRIMITIVES)))


def _ranges(row: Width) -> tuple[int | None, int | None, int, int | None, int | None, int | None]:
    return row.proved_lo, row.proved_hi, row.proved_bits, row.observed_lo, row.observed_hi, row.observed_bits


def _sum_known(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _words(program: Program, names: list[str], constant: bool) -> tuple[str, ...]:
    return _unique(str(program.tensors[n].format) for n in names if program.tensors[n].is_constant == constant)


def _read_outside(program: Program, nodes: list[Node], inside: set[str]) -> list[str]:
    own = {node.name for node in nodes}
    wanted = set(program.outputs).union(*(node.inputs for node in program.nodes if node.name not in own))
    return [name for node in nodes for name in node.outputs if name in inside & wanted]


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
