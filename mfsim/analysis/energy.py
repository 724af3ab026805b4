"""Energy of counted operations: each primitive at its width, and what every figure rests on.

Five kinds of figures are kept apart, and a report shows the share of its total that rests on each:

    table          printed in the source for this very width
    interpolated   between or beyond the widths of that table: additions linear in the width,
                   multiplications linear in the product of the widths, both through 0
    given          stated in the description of an array
    fit            a formula that others fitted to measured circuits (converters, `mfsim.cim`)
    estimate       from gate counts, where the table has nothing: abs, neg, sign, cmp, select, or, ...

Table: M. Horowitz, "Computing's energy problem", ISSCC 2014, 45 nm, 0.9 V. Gates: the 28 nm unit
capacitances of ZigZag-IMC (ND2 0.7 fF, XOR2 1.05 fF; a one-bit adder is 3 ND2 + 2 XOR2 = 4.2 fF),
scaled so that eight such adders take the 0.03 pJ of the table's 8-bit addition. Data movement, clock
and leakage are in no figure.
"""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field, fields

from mfsim.analysis.count import CountReport
from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.tabular import Tabular
from mfsim.errors import CountError
from mfsim.keywords import check_constructor, check_keywords

BASES = ("table", "interpolated", "given", "fit", "estimate")
"""What a figure can rest on; see the module header."""

ND2, XOR2 = 0.7, 1.05
"""Switched capacitances of gates in fF, 28 nm: ZigZag-IMC, `zigzag/hardware/architecture/imc_unit.py`."""

FULL_ADDER = 3 * ND2 + 2 * XOR2

GATES = {
    "abs": (2 * XOR2 + ND2, "conditional inversion and increment: 2 XOR2 + ND2 a bit"),
    "neg": (2 * XOR2 + ND2, "conditional inversion and increment: 2 XOR2 + ND2 a bit"),
    "sign": (ND2, "detection of 0: ND2 a bit; the sign itself is a wire"),
    "cmp": (3 * ND2 + XOR2, "carry chain of a subtractor: 3 ND2 + XOR2 a bit"),
    "select": (3 * ND2, "multiplexer: 3 ND2 a bit"),
    "or": (ND2, "ND2 a bit"),
    "shift": (0.0, "fixed distance: wires, no gate"),
}
"""Capacitance in fF for each bit of the widest operand, and how it is made up."""

STEP = FULL_ADDER + 3 * ND2
"""One bit of one step of a restoring division: an adder and a multiplexer, in fF."""


@dataclass(frozen=True)
class Cost:
    """Energy of one execution in pJ, and what the figure rests on (one of `BASES`)."""

    pj: float
    basis: str


@check_constructor
@dataclass(frozen=True)
class Technology:
    """Energies in pJ: `additions` and `multiplications` for operands of the given widths in bits.

    `read_pj_per_bit` is that of a small SRAM, for lookup tables.
    """

    name: str = "Horowitz 45 nm, 0.9 V"
    additions: tuple[tuple[int, float], ...] = ((8, 0.03), (16, 0.05), (32, 0.1))
    multiplications: tuple[tuple[int, float], ...] = ((8, 0.2), (32, 3.1))
    read_pj_per_bit: float = 10 / 64

    def cost(self, primitive: str, widths: Sequence[int]) -> Cost:
        """Return the energy of one `primitive` of operands of `widths` bits.

        Parameters
        ----------
        primitive : str
            One of `mfsim.analysis.count.PRIMITIVES`.
        widths : sequence of int, at least one
            Width of each operand in bits; of a "lut" the last is that of the entry read, and of a "shift" by data the
            second is that of the distance.

        Returns
        -------
        Cost
            Energy of one execution in pJ, and its basis.

        Raises
        ------
        CountError
            If neither the table nor an estimate covers the primitive.

        Examples
        --------
        >>> Technology().cost("addsub", (8, 8)), Technology().cost("addsub", (64, 9))
        (Cost(pj=0.03, basis='table'), Cost(pj=0.2, basis='interpolated'))
        """
        widest, least = max(widths), min(widths)
        if primitive == "addsub":
            return _on_line(self.additions, widest, [bits for bits, _ in self.additions])
        if primitive == "mul":
            anchors = tuple((bits * bits, pj) for bits, pj in self.multiplications)
            return _on_line(anchors, widest * least, [n for n, _ in anchors] if widest == least else [])
        if primitive == "shift" and len(widths) == 2:
            return Cost(GATES["select"][0] * widths[0] * widths[1] * self.pj_per_ff, "estimate")
        if primitive in GATES:
            return Cost(GATES[primitive][0] * widest * self.pj_per_ff, "estimate")
        if primitive == "lut":
            return Cost(self.read_pj_per_bit * widths[-1], "estimate")
        if primitive in ("div", "sqrt"):
            steps = widest if primitive == "div" else (widest + 1) // 2
            return Cost(STEP * steps * least * self.pj_per_ff, "estimate")
        raise CountError(f"the primitive `{primitive}` has no energy in the technology {self.name}")

    @property
    def pj_per_ff(self) -> float:
        """Energy of 1 fF of gates: what makes one-bit adders agree with the narrowest addition."""
        bits, pj = self.additions[0]
        return pj / bits / FULL_ADDER

    def sources(self) -> list[tuple[str, str, str]]:
        """Return (what, figure, source) for everything that an energy may rest on."""
        table = [
            *((f"addition, {bits} bits", f"{pj} pJ", self.name) for bits, pj in self.additions),
            *((f"multiplication, {bits} x {bits} bits", f"{pj} pJ", self.name) for bits, pj in self.multiplications),
        ]
        gates = [
            (primitive, f"{capacitance:.4g} fF a bit, estimate", text)
            for primitive, (capacitance, text) in GATES.items()
        ]
        return [
            *table,
            *gates,
            (
                "shift by data",
                "as select, for each bit of the distance",
                "barrel shifter: a multiplexer a bit and stage",
            ),
            ("div, sqrt", f"{STEP:.4g} fF a bit and step, estimate", "restoring: an adder and a multiplexer"),
            ("1 fF of gates", f"{self.pj_per_ff:.4g} pJ", "one-bit adder of 4.2 fF = an eighth of the 8-bit addition"),
            ("lut", f"{self.read_pj_per_bit:.4g} pJ a bit, estimate", f"8 KB SRAM, 64 bits in 10 pJ: {self.name}"),
        ]


def _on_line(anchors: Sequence[tuple[int, float]], at: int, exact: Sequence[int]) -> Cost:
    """Return the value at `at` on the broken line through 0 and the anchors, the last ray to 0 beyond them."""
    for place, pj in anchors:
        if place == at and at in exact:
            return Cost(pj, "table")
    last, most = anchors[-1]
    if at >= last:
        return Cost(most / last * at, "interpolated")
    points = [(0, 0.0), *anchors]
    (a, low), (b, high) = next(pair for pair in itertools.pairwise(points) if at < pair[1][0])
    return Cost(low + (high - low) * (at - a) / (b - a), "interpolated")


@dataclass(frozen=True)
class Spent:
    """`count` executions of `primitive` for one sample, `pj` in all; `basis` is one of `BASES`."""

    layer: str
    node: str
    op: str
    primitive: str
    widths: tuple[int, ...]
    count: int
    pj_each: float
    pj: float
    basis: str

    @classmethod
    def of(cls, where: tuple[str, str, str], primitive: str, widths: tuple[int, ...], count: int, each: Cost) -> Spent:
        """Return the row for `count` executions at the cost `each`; `where` is (layer, node, op).

        Parameters
        ----------
        where : tuple of three str
            (layer, node, op).
        primitive : str
            One of `mfsim.analysis.count.PRIMITIVES`, or "conversion", "line" or "cell" of an array.
        widths : tuple of int
            Widths of the operands in bits.
        count : int, at least 0
            Executions for one sample.
        each : Cost
            Energy of one execution in pJ, and its basis.

        Returns
        -------
        Spent
            The row; its `pj` is `count` times that of `each`.
        """
        return cls(*where, primitive, widths, count, each.pj, each.pj * count, each.basis)


@dataclass(frozen=True, repr=False)
class EnergyReport(Tabular):
    """Energy of one sample; `layers` are those of the program in order."""

    technology: Technology
    rows: tuple[Spent, ...]
    layers: tuple[str, ...] = field(default=())

    @property
    def total_pj(self) -> float:
        """Energy of one sample in pJ."""
        return sum(row.pj for row in self.rows)

    def by_primitive(self) -> dict[str, float]:
        """Return pJ of each primitive, in order of appearance."""
        return summed(self.rows, lambda row: row.primitive)

    def by_basis(self) -> dict[str, float]:
        """Return pJ that rest on each of `BASES`."""
        return dict.fromkeys(BASES, 0.0) | summed(self.rows, lambda row: row.basis)

    def by_layer(self) -> dict[str, float]:
        """Return pJ of each layer; 0 for one that only moves or relabels codes."""
        return dict.fromkeys(self.layers, 0.0) | summed(self.rows, lambda row: row.layer)

    def by_node(self) -> dict[str, float]:
        """Return pJ of each node that computes something."""
        return summed(self.rows, lambda row: row.node)

    @property
    def estimated_share(self) -> float:
        """The part of the total in 0..1 that rests on estimates; 0 where nothing is spent."""
        return share(self.rows, "estimate")

    def headline(self) -> str:
        """Return the energy in all, and what it rests on."""
        return f"{self.total_pj:,.6g} pJ for one sample, {self.estimated_share:.0%} estimated, {self.technology.name}"

    def overview(self) -> Listing:
        """Return the energy of each layer, and their sum."""
        return Listing("energy_by_layer", ("layer", "pj"), (*self.by_layer().items(), ("total", self.total_pj)))

    def listings(self) -> list[Listing]:
        """Return every table of the report."""
        return [
            Listing("energy", tuple(f.name for f in fields(Spent)), tuple(astuple(row) for row in self.rows)),
            Listing("energy_by_primitive", ("primitive", "pj"), tuple(self.by_primitive().items())),
            Listing("energy_by_layer", ("layer", "pj"), tuple(self.by_layer().items())),
            Listing("energy_by_basis", ("basis", "pj", "share"), by_basis(self.rows)),
            Listing("energy_sources", ("what", "figure", "source"), tuple(self.technology.sources())),
        ]

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it."""
        head = {"technology": self.technology.name, "per": "sample", "total_pj": self.total_pj}
        share_of = {"estimated_share": self.estimated_share}
        return head | share_of | {listing.name: listing.records() for listing in self.listings()}

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


def summed(rows: Iterable[Spent], key: Callable[[Spent], str]) -> dict[str, float]:
    """Return pJ for each value of `key`, in order of appearance.

    Parameters
    ----------
    rows : iterable of Spent
        Rows of one report.
    key : callable
        Gives the group of a row, such as its layer.

    Returns
    -------
    dict of str to float
        Energy in pJ of each group.
    """
    sums: dict[str, float] = {}
    for row in rows:
        sums[key(row)] = sums.get(key(row), 0.0) + row.pj
    return sums


def share(rows: Sequence[Spent], basis: str) -> float:
    """Return the part of the energy of `rows` that rests on `basis`, in 0..1.

    Parameters
    ----------
    rows : sequence of Spent
        Rows of one report.
    basis : str
        One of `BASES`.

    Returns
    -------
    float in 0..1
        0 where nothing is spent.
    """
    total = sum(row.pj for row in rows)
    return sum(row.pj for row in rows if row.basis == basis) / total if total else 0.0


def by_basis(rows: Sequence[Spent]) -> tuple[tuple[str, float, float], ...]:
    """Return (basis, pJ, share) for each of `BASES`.

    Parameters
    ----------
    rows : sequence of Spent
        Rows of one report.

    Returns
    -------
    tuple of (str, float, float)
        In the order of `BASES`; the share is in 0..1.
    """
    return tuple((basis, sum(row.pj for row in rows if row.basis == basis), share(rows, basis)) for basis in BASES)


@check_keywords
def energy(counts: CountReport, technology: Technology | None = None) -> EnergyReport:
    """Return the energy of one sample from its counted operations; multiplications are among them.

    Parameters
    ----------
    counts : CountReport
        A complete count by the rule "full".
    technology : Technology or None
        Energies in pJ by primitive and width; by default those of Horowitz, 45 nm, 0.9 V.

    Returns
    -------
    EnergyReport
        Energy in pJ of each row of `counts` that is executed for every sample.

    Raises
    ------
    CountError
        If something was not counted, or not by the rule full: a total would then be too small.
    """
    if counts.rule != "full":
        raise CountError(f"energy needs a count by the rule full, not by the rule {counts.rule}")
    if counts.uncounted:
        raise CountError(f"node `{counts.uncounted[0].node}` is not counted, so the energy of its program is not known")
    table = technology or Technology()
    rows = tuple(
        Spent.of((r.layer, r.node, r.op), r.primitive, r.widths, r.count, table.cost(r.primitive, r.widths))
        for r in counts.online
    )
    return EnergyReport(table, rows, counts.layers)
