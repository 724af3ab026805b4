"""Operations of one sample: rows, roll-ups, and the proof that a program is multiplication-free.

Every count comes from the op itself (`mfsim.ops`), which states what its plain kernel executes. The
batch is never counted. What no op can count is named and is an error unless the caller allows it; it
is then listed in `CountReport.uncounted` and never stands as 0.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mfsim import ops
from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.lookup import TableUse, tables_of
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.errors import CountError, did_you_mean
from mfsim.ir.program import Node, Program
from mfsim.keywords import check_keywords
from mfsim.ops.op import MULTIPLIED_BY, TAPS, Row
from mfsim.ops.traits import Trait

PRIMITIVES = ("addsub", "neg", "abs", "sign", "cmp", "select", "shift", "or", "lut", "mul", "div", "sqrt")
"""Every primitive, in the order of the columns."""

Key = TypeVar("Key")

MULTIPLICATIONS = ("mul", "div", "sqrt")
"""The primitives that a multiplication-free program does not have."""

RULES = ("full", "paper")
"""The counting rules of `count`."""


@dataclass(frozen=True)
class Uncounted:
    """A node that could not be counted, and why."""

    layer: str
    node: str
    op: str
    reason: str


@dataclass(frozen=True, repr=False)
class CountReport(Tabular):
    """The operations of one sample of a program.

    Attributes
    ----------
    rule : "full" or "paper", see `count`.
    rows : one for each (node, primitive, operand widths); those with `offline` are work on constants
        alone, done once before the program runs, and are in no roll-up but `offline`.
    tables : lookup tables, each with the nodes that read it.
    uncounted : nodes that could not be counted; empty unless they were allowed.
    layers : every layer of the program in order, those without operations too.
    nodes : (layer, node, op) of every node in order.
    taps : "executed" or "valid", see `count`.
    """

    rule: str
    rows: tuple[Row, ...]
    tables: tuple[TableUse, ...]
    uncounted: tuple[Uncounted, ...]
    layers: tuple[str, ...]
    nodes: tuple[tuple[str, str, str], ...]
    taps: str = "executed"

    @property
    def online(self) -> list[Row]:
        """The rows that are executed for every sample."""
        return [row for row in self.rows if not row.offline]

    @property
    def primitives(self) -> list[str]:
        """The primitives that occur, in the order of `PRIMITIVES`."""
        found = {row.primitive for row in self.rows}
        return [p for p in PRIMITIVES if p in found] + sorted(found - set(PRIMITIVES))

    @property
    def total(self) -> int:
        """All operations of one sample."""
        return sum(row.count for row in self.online)

    def by_primitive(self) -> dict[str, int]:
        """Return operations of each primitive that occurs, mul, div and sqrt always among them."""
        sums = _sums(self.online, lambda row: row.primitive)
        names = [p for p in PRIMITIVES if p in sums or p in MULTIPLICATIONS] + sorted(set(sums) - set(PRIMITIVES))
        return {name: sums.get(name, 0) for name in names}

    def by_layer(self) -> dict[str, dict[str, int]]:
        """Return operations by primitive of each layer; a layer that computes nothing has an empty dict."""
        return {
            layer: self._sorted(_sums((r for r in self.online if r.layer == layer), _primitive))
            for layer in self.layers
        }

    def by_node(self) -> dict[str, dict[str, int]]:
        """Return operations by primitive of each node."""
        return {
            node: self._sorted(_sums((r for r in self.online if r.node == node), _primitive))
            for _, node, _ in self.nodes
        }

    def by_op(self) -> dict[str, dict[str, int]]:
        """Return operations by primitive of each op."""
        names = dict.fromkeys(op for _, _, op in self.nodes)
        return {name: self._sorted(_sums((r for r in self.online if r.op == name), _primitive)) for name in names}

    def by_width(self) -> dict[tuple[str, tuple[int, ...]], int]:
        """Return operations of each (primitive, operand widths in bits)."""
        sums = _sums(self.online, lambda row: (row.primitive, row.widths))
        rank = {name: k for k, name in enumerate(self.primitives)}
        return dict(sorted(sums.items(), key=lambda item: (rank[item[0][0]], item[0][1])))

    def offline(self) -> dict[str, int]:
        """Return operations by primitive on constants alone: done once, never for a sample."""
        return self._sorted(_sums((row for row in self.rows if row.offline), _primitive))

    def multiplications(self) -> list[Row]:
        """Return the rows of mul, div and sqrt that are executed for every sample."""
        return [row for row in self.online if row.primitive in MULTIPLICATIONS]

    def by_class(self) -> dict[str, int]:
        """Return mul operations by learned constants, by activations and by fixed constants."""
        sums = _sums((r for r in self.online if r.primitive == "mul"), lambda row: row.multiplied_by)
        return {name: sums.get(name, 0) for name in MULTIPLIED_BY}

    def headline(self) -> str:
        """Return the operations and multiplications in all."""
        times = sum(row.count for row in self.multiplications())
        parts = [f"{counted(self.total, 'operation')} of one sample", f"{times:,} of them mul, div or sqrt"]
        if self.rule != "full":
            parts = [f"{counted(self.total, 'multiplication')} of one sample by the rule {self.rule}"]
        if self.tables:
            parts.append(counted(len(self.tables), "table"))
        if self.uncounted:
            parts.append(f"{counted(len(self.uncounted), 'node')} not counted")
        return ", ".join(parts)

    def overview(self) -> Listing:
        """Return the operations of each layer by the primitives that occur, and their sums."""
        names = [name for name in self.primitives if any(row.primitive == name for row in self.online)]
        counts = self.by_layer() | {"total": self.by_primitive()}
        return Listing(
            "operations_by_layer",
            ("layer", *names, "total"),
            tuple((layer, *(c.get(p, 0) for p in names), sum(c.values())) for layer, c in counts.items()),
        )

    def listings(self) -> list[Listing]:
        """Return every table of the report: what `to_json` and `write_csv` write."""
        wide = (*PRIMITIVES, *(name for name in self.primitives if name not in PRIMITIVES))
        rolled = {"layer": self.by_layer(), "op": self.by_op()}
        row_columns = tuple(field.name for field in dataclasses.fields(Row))
        return [
            Listing("operations", row_columns, tuple(dataclasses.astuple(row) for row in self.rows)),
            *(
                Listing(
                    f"operations_by_{key}",
                    (key, *wide, "total"),
                    tuple((name, *(c.get(p, 0) for p in wide), sum(c.values())) for name, c in counts.items()),
                )
                for key, counts in rolled.items()
            ),
            Listing("operations_by_primitive", ("primitive", "count"), tuple(self.by_primitive().items())),
            Listing(
                "operations_by_width",
                ("primitive", "widths", "count"),
                tuple((name, widths, n) for (name, widths), n in self.by_width().items()),
            ),
            Listing("operations_offline", ("primitive", "count"), tuple(self.offline().items())),
            Listing(
                "multiplications",
                ("layer", "node", "op", "primitive", "class", "widths", "count"),
                tuple(
                    (r.layer, r.node, r.op, r.primitive, r.multiplied_by, r.widths, r.count)
                    for r in self.multiplications()
                ),
            ),
            Listing("multiplications_by_class", ("class", "count"), tuple(self.by_class().items())),
            Listing(
                "tables",
                ("table", "entries", "input_bits", "output_bits", "shared", "nodes"),
                tuple((t.name, t.entries, t.input_bits, t.output_bits, t.shared, t.nodes) for t in self.tables),
            ),
            Listing(
                "uncounted", ("layer", "node", "op", "reason"), tuple(dataclasses.astuple(u) for u in self.uncounted)
            ),
        ]

    def to_json(self) -> dict[str, object]:
        """Return the whole report as `json.dumps` takes it: rule, taps, total, and each listing as records."""
        return {
            "rule": self.rule,
            "taps": self.taps,
            "per": "sample",
            "total": self.total,
            **{listing.name: listing.records() for listing in self.listings()},
        }

    def write_csv(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Write each listing as a CSV file into `folder` and return the paths.

        Parameters
        ----------
        folder : str or path, made if missing

        Returns
        -------
        list of path, one for each listing
        """
        return write_listings(self.listings(), folder)

    def _sorted(self, sums: dict[str, int]) -> dict[str, int]:
        return {name: sums[name] for name in self.primitives if name in sums}


def _primitive(row: Row) -> str:
    return row.primitive


def _sums(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, int]:
    sums: dict[Key, int] = {}
    for row in rows:
        sums[key(row)] = sums.get(key(row), 0) + row.count
    return sums


@check_keywords
def count(program: Program, rule: str = "full", allow_uncounted: bool = False, taps: str = "executed") -> CountReport:
    """Return the operations of one sample of `program`; nothing that cannot be counted counts as 0.

    Parameters
    ----------
    program : the integer program.
    rule : "full" counts every primitive that the plain kernels execute. "paper" counts multiplications
        of dense and attention products only, the rule behind the totals of the vision transformers in
        "Learned Queries and Keys", table 3: a product of M x K by K x O codes counts M*K*O (a convolution
        the same over its windows), with constant weights and with two activations; biases, scalings,
        norms, GELU, softmax and tanh, divisions and the MF operator count nothing.
    allow_uncounted : list the nodes that cannot be counted in `uncounted` instead of raising.
    taps : "executed" counts every tap of a convolution's or a pool's window, those in the padding too, as
        the plain kernels execute them. "valid" counts windows as if they held only their taps inside the image.

    Raises
    ------
    CountError
        If `rule` or `taps` is unknown, or if a node cannot be counted and that is not allowed. It names the node.
    """
    check_rule(rule)
    check_taps(taps)
    rows: list[Row] = []
    uncounted: list[Uncounted] = []
    for node in program.nodes:
        reason = _why_uncounted(node)
        if reason:
            uncounted.append(Uncounted(node.layer, node.name, node.op, reason))
        else:
            rows += ops.get(node.op).rows(node, program.inputs_of(node), program.outputs_of(node), taps)
    if not allow_uncounted:
        check_counted(uncounted)
    tables = tables_of(program, rows)
    if rule == "paper":
        rows = paper_rows(rows)
    nodes = tuple((node.layer, node.name, node.op) for node in program.nodes)
    return CountReport(rule, tuple(rows), tables, tuple(uncounted), tuple(program.layers()), nodes, taps)


def paper_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that the rule `paper` counts.

    Parameters
    ----------
    rows : iterable of Row, those of a full count

    Returns
    -------
    list of Row, in the same order
    """
    linear = ops.named(Trait.MULTIPLY_ACCUMULATE)
    return [row for row in rows if row.primitive == "mul" and row.op in linear and not row.offline]


def _why_uncounted(node: Node) -> str:
    if node.op not in ops.REGISTRY:
        return f"`{node.op}` is not an op of the integer program{did_you_mean(node.op, ops.REGISTRY)}"
    return "" if callable(ops.REGISTRY[node.op].count) else f"op `{node.op}` states no count"


def check_rule(rule: str) -> None:
    """Raise `CountError` unless `rule` is one of `RULES`.

    Parameters
    ----------
    rule : str
    """
    if rule not in RULES:
        raise CountError(f"`rule` must be one of {', '.join(RULES)}, not {rule!r}{did_you_mean(str(rule), RULES)}")


def check_taps(taps: str) -> None:
    """Raise `CountError` unless `taps` is one of `TAPS`.

    Parameters
    ----------
    taps : str
    """
    if taps not in TAPS:
        raise CountError(f"`taps` must be one of {', '.join(TAPS)}, not {taps!r}{did_you_mean(str(taps), TAPS)}")


def check_counted(uncounted: Sequence[Uncounted]) -> None:
    """Raise `CountError`, naming the first node, if there are nodes that could not be counted.

    Parameters
    ----------
    uncounted : sequence of Uncounted
    """
    if uncounted:
        first = uncounted[0]
        more = f" (and {len(uncounted) - 1} more)" if len(uncounted) > 1 else ""
        raise CountError(f"node `{first.node}` of layer `{first.layer}` cannot be counted{more}: {first.reason}")


@check_keywords
def strict_multiplication_free(subject: Program | CountReport, max_table: int = 2**12) -> CountReport:
    """Check that a program is multiplication-free and return its count.

    Multiplication-free means: every node is counted, no mul, div or sqrt is executed between input codes
    and output codes, and every lookup table is listed, shared by all channels, has at most `max_table`
    entries, and is no rounded product by a constant (`mfsim.analysis.lookup.hidden_gain`).
    This is about the program. Stock ONNX Runtime does multiply when it runs the bodies in `model.onnx` and
    `integer.onnx`.

    Parameters
    ----------
    subject : Program, or its CountReport by the rule full of the taps executed
    max_table : int, most entries of a lookup table

    Returns
    -------
    CountReport, the one that was checked

    Raises
    ------
    CountError
        Naming the first multiplication (node, op, layer, count), or the first table or node at fault;
        or if the count is by another rule or of other taps.
    """
    report = subject if isinstance(subject, CountReport) else count(subject)
    if report.rule != "full":
        raise CountError(
            f"only a count by the rule full shows that nothing multiplies, not one by the rule {report.rule}"
        )
    if report.taps != "executed":
        raise CountError(
            f"only a count of the taps executed shows that nothing multiplies, not one of the taps {report.taps}"
        )
    check_counted(report.uncounted)
    if report.multiplications():
        row = report.multiplications()[0]
        by = {"": "", "activation": " by activations"}.get(row.multiplied_by, f" by {row.multiplied_by} constants")
        raise CountError(
            f"node `{row.node}` ({row.op}) of layer `{row.layer}` executes {row.count} {row.primitive}{by} for each sample; "
            "a multiplication-free program has no mul, div or sqrt"
        )
    listed = {node for table in report.tables for node in table.nodes}
    for row in report.online:
        if row.primitive == "lut" and row.node not in listed:
            raise CountError(f"node `{row.node}` ({row.op}) of layer `{row.layer}` looks up a table that is not listed")
    for table in report.tables:
        if not table.shared:
            raise CountError(f"table `{table.name}` of node `{table.nodes[0]}` must be shared by all channels")
        if table.gain:
            raise CountError(
                f"table `{table.name}` of node `{table.product_at}` multiplies by {table.gain}, within half a step; "
                "a table must be a nonlinear function"
            )
        if table.entries > max_table:
            raise CountError(
                f"table `{table.name}` of node `{table.nodes[0]}` must have at most {max_table} entries, not {table.entries}"
            )
    return report
