"""The lookup tables of a program: their entries, their words and the nodes that read them.

A table is a constant input whose role is `Role.TABLE` or `Role.STEPS`. It is shared by all channels when it has one axis and no other table is read with another
slice of the same tensor.

A table may hide a product by a constant: `hidden_factor` finds those whose entries, between saturated
ends, lie on a straight line whose slope is no power of two. Thresholds, which are searched, and a table
that is read only at the result of a search are step functions and no products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mfsim import ops
from mfsim.ir.program import Node, Program, Tensor
from mfsim.ops.op import Row
from mfsim.ops.traits import Role, Trait


@dataclass(frozen=True)
class TableUse:
    """A lookup table of `entries` words of `output_bits`, read with codes of `input_bits` by `nodes`.

    `factor` is the constant that it multiplies by, 0 where it is no product.
    """

    name: str
    entries: int
    input_bits: int
    output_bits: int
    shared: bool
    nodes: tuple[str, ...]
    factor: int = 0


THROUGH = (Trait.VIEW, Trait.PERMUTES, Trait.SELECTS)
"""Traits of ops through which a table still reads codes of the tensor behind them."""


def hidden_factor(entries: np.ndarray) -> int:
    """Return the constant that a table of `entries` multiplies by, 0 where it is no product.

    Equal entries at either end count as saturation. Slopes 0, +-2**k and tables with fewer than three
    entries on the line are no product.
    """
    steps = np.diff(np.asarray(entries, dtype=object).reshape(-1))
    moving = np.flatnonzero(steps != 0)
    if len(moving) < 2:
        return 0
    # The steps into and out of saturation may be cut short, so the line is judged without them.
    line = steps[moving[0] : moving[-1] + 1]
    line = line[1:-1] if len(line) > 3 else line
    slope = int(line[0])
    if any(step != slope for step in line) or abs(slope).bit_count() == 1:
        return 0
    return slope


def _sliced_source(program: Program, node: Node) -> str:
    """Return the tensor of which `node` reads a slice, through layout ops; "" if it reads no slice."""
    makers = {output: maker for maker in program.nodes for output in maker.outputs}
    name, sliced = node.inputs[0], False
    while name in makers and any(makers[name].op in ops.named(trait) for trait in THROUGH):
        sliced |= makers[name].op in ops.named(Trait.SELECTS)
        name = makers[name].inputs[0]
    return name if sliced else ""


def table_inputs(program: Program, node: Node) -> Iterator[tuple[Tensor, bool]]:
    """Yield the tables that `node` reads, and whether it reads them in a search, or at its result, only."""
    if node.op not in ops.REGISTRY:
        return
    op = ops.REGISTRY[node.op]
    for declared, tensor in zip(op.inputs, program.inputs_of(node), strict=False):
        role = op.roles.get(declared.rstrip("?*"))
        if tensor.is_constant and role in (Role.TABLE, Role.STEPS):
            yield tensor, role is Role.STEPS


def tables_of(program: Program, rows: Iterable[Row]) -> tuple[TableUse, ...]:
    """Return every table of `program` once, in order of first use; `rows` give the widths of the lookups."""
    widths: dict[str, int] = {}
    for row in rows:
        if row.primitive == "lut":
            widths[row.node] = max(widths.get(row.node, 0), row.widths[0])
    readers: dict[str, list[Node]] = {}
    addressed: set[str] = set()
    for node in program.nodes:
        for tensor, searched in table_inputs(program, node):
            readers.setdefault(tensor.name, []).append(node)
            if not searched:
                addressed.add(tensor.name)
    sliced: dict[str, set[str]] = {}
    for name, nodes in readers.items():
        for node in nodes:
            sliced.setdefault(_sliced_source(program, node), set()).add(name)
    apart = {name for source, names in sliced.items() if source and len(names) > 1 for name in names}
    return tuple(
        TableUse(
            name,
            program.tensors[name].sample_size,
            max(widths.get(n.name, 0) for n in nodes),
            program.tensors[name].format.bits,
            len(program.tensors[name].shape) == 1 and name not in apart,
            tuple(n.name for n in nodes),
            hidden_factor(np.asarray(program.tensors[name].codes)) if name in addressed else 0,
        )
        for name, nodes in readers.items()
    )
