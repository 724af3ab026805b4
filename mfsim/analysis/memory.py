"""Memory of a program by word length: weights, tables, activations, and the peak over the schedule.

Bits are exact: a tensor of n codes of b bits has n*b bits, packed, and takes ceil(n*b / 8) bytes.
Activations are those of one sample. Caches, which stay from token to token, are counted apart. The peak follows the program's own order of nodes: while a node
runs, its inputs, its outputs and every value that a later node or the caller still needs are live.
Ops that only relabel or reshape (`Trait.VIEW`) leave their codes where they are, so
their input and output are one buffer; every other node writes a buffer of its own.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import ClassVar

from mfsim import ops
from mfsim.analysis.listing import Cell, Listing, write_listings
from mfsim.analysis.lookup import table_inputs
from mfsim.analysis.tabular import Tabular
from mfsim.ir.program import Program
from mfsim.keywords import check_keywords
from mfsim.ops.traits import Trait

KINDS = ("weight", "table", "activation", "cache")
"""What a tensor is stored for; every constant that is no table is a weight (biases, thresholds too)."""


@dataclass(frozen=True)
class CacheSize:
    """The caches of a program of one step, in the words of the rows that they keep, for one sequence.

    Attributes
    ----------
    bits_per_token : of one row of each cache.
    rows : tokens that they hold: one less than a sequence has at most.
    """

    bits_per_token: int
    rows: int

    @property
    def bytes_per_token(self) -> int:
        """Bytes of a token, packed on its own."""
        return _packed_bytes(self.bits_per_token)


@dataclass(frozen=True)
class Stored:
    """One tensor in memory: `codes` words of `bits` bits; `layer` is where it is made, or first read if constant."""

    layer: str
    tensor: str
    kind: str
    codes: int
    bits: int
    total_bits: int
    bytes: int


@dataclass(frozen=True, repr=False)
class MemoryReport(Tabular):
    """Tensors in memory, and the live activations while each node runs.

    `schedule` has (node, layer, op, live bits, live bytes, live buffers) for each node; `layers` are all
    layers in order, with "" first for the program's inputs if it is no layer itself; `cache` is None for a
    program without caches.
    """

    MAIN: ClassVar[str] = "memory_tensors"

    tensors: tuple[Stored, ...]
    schedule: tuple[tuple[str, str, str, int, int, tuple[str, ...]], ...]
    layers: tuple[str, ...]
    cache: CacheSize | None = None

    def total_bits(self, kind: str) -> int:
        """Return the exact bits of all tensors of `kind`.

        Parameters
        ----------
        kind : str
            One of `KINDS`.

        Returns
        -------
        int
            Bits, without padding.
        """
        return sum(t.total_bits for t in self.tensors if t.kind == kind)

    def total_bytes(self, kind: str) -> int:
        """Return the bytes of all tensors of `kind`, each packed on its own.

        Parameters
        ----------
        kind : str
            One of `KINDS`.

        Returns
        -------
        int
            Bytes; each tensor is rounded up to whole bytes.
        """
        return sum(t.bytes for t in self.tensors if t.kind == kind)

    @property
    def weight_codes(self) -> int:
        """The number of weights, biases and thresholds included."""
        return sum(t.codes for t in self.tensors if t.kind == "weight")

    @property
    def peak_bytes(self) -> int:
        """The most bytes of activations that are live at once."""
        return max((step[4] for step in self.schedule), default=self.total_bytes("activation"))

    @property
    def peak_node(self) -> str:
        """The first node at which the peak is reached; empty for a program without nodes."""
        return next((step[0] for step in self.schedule if step[4] == self.peak_bytes), "")

    def summary(self) -> dict[str, int | str]:
        """Return the totals: bits and bytes of each kind, weight codes, peak."""
        totals: dict[str, int | str] = {"weight_codes": self.weight_codes}
        for kind in KINDS:
            totals |= {f"{kind}_bits": self.total_bits(kind), f"{kind}_bytes": self.total_bytes(kind)}
        if self.cache is not None:
            totals |= {"cache_bytes_per_token": self.cache.bytes_per_token, "cache_tokens": self.cache.rows}
        return totals | {"peak_activation_bytes": self.peak_bytes, "peak_node": self.peak_node}

    def headline(self) -> str:
        """Return bytes of weights and tables, and the peak of activations."""
        return (
            f"weights {self.total_bytes('weight'):,} bytes, tables {self.total_bytes('table'):,} bytes, "
            f"activations {self.peak_bytes:,} bytes at their peak"
        )

    def overview(self) -> Listing:
        """Return the bytes of each layer, and their sums."""
        rows: list[tuple[Cell, ...]] = [(layer or "(inputs)", *sizes) for layer, *sizes in self.by_layer()]
        rows.append(("total", *(self.total_bytes(kind) for kind in KINDS)))
        return Listing("memory_by_layer", ("layer", *(f"{kind}_bytes" for kind in KINDS)), tuple(rows))

    def listings(self) -> list[Listing]:
        """Return every table of the report."""
        return [
            Listing("memory_totals", ("quantity", "value"), tuple(self.summary().items())),
            Listing("memory_tensors", tuple(f.name for f in fields(Stored)), tuple(astuple(t) for t in self.tensors)),
            Listing(
                "memory_by_width", ("kind", "bits", "tensors", "codes", "total_bits", "bytes"), tuple(self.by_width())
            ),
            Listing("memory_by_layer", ("layer", *(f"{kind}_bytes" for kind in KINDS)), tuple(self.by_layer())),
            Listing("memory_schedule", ("node", "layer", "op", "live_bits", "live_bytes", "live"), self.schedule),
        ]

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it: each listing as records, the totals as one dict."""
        records = {listing.name: listing.records() for listing in self.listings()}
        return records | {"memory_totals": self.summary()}

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

    def by_width(self) -> list[tuple[str, int, int, int, int, int]]:
        """Return (kind, word bits, tensors, codes, bits, bytes) for each kind and word length."""
        keys = sorted({(KINDS.index(t.kind), t.bits) for t in self.tensors})
        groups = [
            (KINDS[k], bits, [t for t in self.tensors if (t.kind, t.bits) == (KINDS[k], bits)]) for k, bits in keys
        ]
        return [
            (kind, bits, len(ts), sum(t.codes for t in ts), sum(t.total_bits for t in ts), sum(t.bytes for t in ts))
            for kind, bits, ts in groups
        ]

    def by_layer(self) -> list[tuple[str, int, int, int, int]]:
        """Return (layer, weight bytes, table bytes, activation bytes, cache bytes) for each layer."""

        def of(layer: str, kind: str) -> int:
            return sum(t.bytes for t in self.tensors if t.layer == layer and t.kind == kind)

        return [
            (layer, of(layer, "weight"), of(layer, "table"), of(layer, "activation"), of(layer, "cache"))
            for layer in self.layers
        ]


def _packed_bytes(bits: int) -> int:
    """Return ceil(bits / 8)."""
    return -(-bits // 8)


@check_keywords
def memory(program: Program) -> MemoryReport:
    """Return the memory that `program` needs for one sample; see the module header for the rules.

    Parameters
    ----------
    program : Program
        The integer program.

    Returns
    -------
    MemoryReport
        Tensors in bits and bytes, the schedule of live activations, and the caches.
    """
    tables = {tensor.name for node in program.nodes for tensor, _ in table_inputs(program, node)}
    made_in = dict.fromkeys(program.inputs, "")
    caches = program.caches
    buffer = {name: name for name in program.inputs if name not in caches}
    tensors = [_stored(program, name, "", "cache" if name in caches else "activation") for name in program.inputs]
    for node in program.nodes:
        for tensor in program.inputs_of(node):
            if tensor.is_constant and tensor.name not in made_in:
                made_in[tensor.name] = node.layer
                kind = "table" if tensor.name in tables else "weight"
                tensors.append(_stored(program, tensor.name, node.layer, kind))
        for name in node.outputs:
            made_in[name] = node.layer
            in_place = node.op in ops.named(Trait.VIEW) and node.inputs[0] in buffer
            buffer[name] = buffer[node.inputs[0]] if in_place else name
            if not in_place:
                tensors.append(_stored(program, name, node.layer, "activation"))
    layers = dict.fromkeys(program.layers())
    if program.inputs:
        layers = {"": None} | layers
    return MemoryReport(tuple(tensors), _schedule(program, buffer), tuple(layers), _cache(program))


def _cache(program: Program) -> CacheSize | None:
    found = [program.tensors[name] for name in program.caches]
    if not found:
        return None
    bits = sum(tensor.sample_size // tensor.shape[1] * tensor.format.bits for tensor in found)
    return CacheSize(bits, max(tensor.shape[1] for tensor in found))


def _stored(program: Program, name: str, layer: str, kind: str) -> Stored:
    tensor = program.tensors[name]
    codes, bits = tensor.sample_size, tensor.format.bits
    return Stored(layer, name, kind, codes, bits, codes * bits, _packed_bytes(codes * bits))


def _schedule(program: Program, buffer: dict[str, str]) -> tuple[tuple[str, str, str, int, int, tuple[str, ...]], ...]:
    last = {buffer[name]: len(program.nodes) for name in program.outputs if name in buffer}
    first = {name: 0 for name in program.inputs if name in buffer}
    for step, node in enumerate(program.nodes):
        for name in _activations([*node.inputs, *node.outputs], buffer):
            first.setdefault(name, step)
            last[name] = max(last.get(name, 0), step)
    steps = []
    for step, node in enumerate(program.nodes):
        live = tuple(name for name in first if first[name] <= step <= last.get(name, -1))
        bits = [program.tensors[name].sample_size * program.tensors[name].format.bits for name in live]
        steps.append((node.name, node.layer, node.op, sum(bits), sum(_packed_bytes(b) for b in bits), live))
    return tuple(steps)


def _activations(names: Iterable[str], buffer: dict[str, str]) -> list[str]:
    return [buffer[name] for name in names if name in buffer]
