"""Proved and observed ranges of every value of a program, in codes and in bits.

Bits are those that the range needs in the signedness of its word, so that proved, observed and word
bits can be compared: 0..5 needs 3 bits in an unsigned word and 4 in a signed one.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.errors import RangeError
from mfsim.ir.formats import Format
from mfsim.ir.program import Node, Program, Tensor
from mfsim.keywords import check_keywords

if TYPE_CHECKING:  # the simulator starts Numba, which a count or a report does not need
    from mfsim.simulate import Simulation

KINDS = ("input", "constant", "edge", "inner")
"""Where a value lives: program input, constant, edge between nodes, accumulator inside a node."""


@dataclass(frozen=True)
class Width:
    """One value: its word, what is proved and what was observed.

    `name` is a tensor, or `<node>.<word>` for an inner word (kind "inner"), whose proved range is known
    only as its word. `slack` is word bits - proved bits, `observed_slack` word bits - observed bits;
    observed entries are None where nothing was observed. `overflows` counts the codes that the overflow
    rule of the node changed, on the output of the node.
    """

    layer: str
    node: str
    op: str
    name: str
    kind: str
    word: str
    bits: int
    proved_lo: int | None
    proved_hi: int | None
    proved_bits: int
    observed_lo: int | None
    observed_hi: int | None
    observed_bits: int | None
    slack: int
    observed_slack: int | None
    overflows: int | None


@dataclass(frozen=True, repr=False)
class WidthReport(Tabular):
    """The widths of every value, in the order of the program."""

    rows: tuple[Width, ...]

    @property
    def overflows(self) -> int | None:
        """All overflow events that were observed; None if nothing was simulated."""
        counted = [row.overflows for row in self.rows if row.overflows is not None]
        return sum(counted) if counted else None

    def headline(self) -> str:
        """Return how many values there are, the most bits of a word, and what overflowed."""
        seen = "nothing observed" if self.overflows is None else counted(self.overflows, "overflow")
        widest = max((row.bits for row in self.rows), default=0)
        return f"{counted(len(self.rows), 'value')}, words of at most {counted(widest, 'bit')}, {seen}"

    def overview(self) -> Listing:
        """Return word, proved and observed range of each value; observed columns only where something was observed."""
        seen = any(row.observed_bits is not None for row in self.rows)
        columns = ("name", "kind", "word", "proved", "proved_bits", "slack")
        rows = [(r.name, r.kind, r.word, _between(r.proved_lo, r.proved_hi), r.proved_bits, r.slack) for r in self.rows]
        if not seen:
            return Listing("widths", columns, tuple(rows))
        extra = [
            (_between(r.observed_lo, r.observed_hi), r.observed_bits, r.observed_slack, r.overflows) for r in self.rows
        ]
        return Listing(
            "widths",
            (*columns, "observed", "observed_bits", "observed_slack", "overflows"),
            tuple((*row, *more) for row, more in zip(rows, extra, strict=True)),
        )

    def listings(self) -> list[Listing]:
        """Return the table of widths."""
        columns = tuple(field.name for field in fields(Width))
        return [Listing("widths", columns, tuple(astuple(row) for row in self.rows))]

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it."""
        return {"overflows": self.overflows, **{listing.name: listing.records() for listing in self.listings()}}

    def write_csv(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Write `widths.csv` into `folder` and return its path in a list.

        Parameters
        ----------
        folder : str or os.PathLike
            Where `widths.csv` goes; made if missing.

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


def _between(lo: int | None, hi: int | None) -> str | None:
    return None if lo is None else f"{lo}..{hi}"


def bits_of(lo: int, hi: int, signed: bool) -> int:
    """Return the bits that lo..hi needs: two's complement if `signed`, else unsigned (lo must be >= 0).

    Parameters
    ----------
    lo, hi : int
        The range in codes, both ends included, of any size; lo <= hi.
    signed : bool
        Whether the word is in two's complement.

    Returns
    -------
    int
        Bits, at least 1.

    Raises
    ------
    RangeError
        If the word is unsigned and lo is negative.

    Examples
    --------
    >>> bits_of(0, 5, False), bits_of(0, 5, True), bits_of(-8, 7, True)
    (3, 4, 4)
    """
    if not signed and lo < 0:
        raise RangeError(f"an unsigned word cannot hold {lo}..{hi}")
    if signed:
        return max((~lo).bit_length() if lo < 0 else 0, hi.bit_length() if hi > 0 else 0) + 1
    return max(1, hi.bit_length())


@check_keywords
def widths(program: Program, simulation: Simulation | None = None) -> WidthReport:
    """Return word, proved and observed range of each tensor and inner word of `program`.

    Parameters
    ----------
    program : the integer program.
    simulation : a simulation of it made with `observe=True`; without, nothing is observed.

    Returns
    -------
    WidthReport
        One row for each value, in the order of the program.

    Raises
    ------
    RangeError
        If a code was observed outside its proved range: the program or the simulation is wrong then.
    """
    observed = simulation.observed if simulation is not None else {}
    overflows = simulation.overflows if simulation is not None else {}
    rows = [_row(program.tensors[name], None, "input", observed) for name in program.inputs]
    seen = set(program.inputs)
    for node in program.nodes:
        for tensor in program.inputs_of(node):
            if tensor.is_constant and tensor.name not in seen:
                seen.add(tensor.name)
                rows.append(_row(tensor, node, "constant", {}))
        rows += [_inner(node, word, format_, observed) for word, format_ in node.words.items()]
        for tensor in program.outputs_of(node):
            first = tensor.name == node.outputs[0]
            rows.append(_row(tensor, node, "edge", observed, overflows.get(node.name) if first else None))
    return WidthReport(tuple(rows))


def _row(
    tensor: Tensor, node: Node | None, kind: str, observed: Mapping[str, tuple[int, int]], overflows: int | None = None
) -> Width:
    word, lo, hi = tensor.format, tensor.range.low, tensor.range.high
    seen_lo, seen_hi, seen_bits = _seen(tensor.name, observed, word, lo, hi)
    proved = bits_of(lo, hi, word.signed)
    where = (node.layer, node.name, node.op) if node is not None else ("", "", "")
    return Width(
        *where,
        tensor.name,
        kind,
        str(word),
        word.bits,
        lo,
        hi,
        proved,
        seen_lo,
        seen_hi,
        seen_bits,
        word.bits - proved,
        None if seen_bits is None else word.bits - seen_bits,
        overflows,
    )


def _inner(node: Node, word: str, format_: Format, observed: Mapping[str, tuple[int, int]]) -> Width:
    name, bits = f"{node.name}.{word}", format_.bits
    lo, hi, seen = _seen(name, observed, format_, format_.lo, format_.hi)
    slack = None if seen is None else bits - seen
    where = (node.layer, node.name, node.op)
    return Width(*where, name, "inner", str(format_), bits, None, None, bits, lo, hi, seen, 0, slack, None)


def _seen(
    name: str, observed: Mapping[str, tuple[int, int]], word: Format, least: int, most: int
) -> tuple[int | None, int | None, int | None]:
    """Return the observed range of `name`, which must lie in the proved range least..most, and its bits."""
    if name not in observed:
        return None, None, None
    lo, hi = (int(v) for v in observed[name])
    if not least <= lo <= hi <= most:
        raise RangeError(f"`{name}` was observed in {lo}..{hi}, outside its proved range {least}..{most}")
    return lo, hi, bits_of(lo, hi, word.signed)
