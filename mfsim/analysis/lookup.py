"""The lookup tables of a program: their entries, their words and the nodes that read them.

A table is a constant input that its op declares under the name `table` (or a name that ends in
`_table`). It is shared by all channels when it has one axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mfsim import ops
from mfsim.ops.op import Row
from mfsim.program import Node, Program, Tensor


@dataclass(frozen=True)
class TableUse:
    """A lookup table of `entries` words of `output_bits`, read with codes of `input_bits` by `nodes`."""

    name: str
    entries: int
    input_bits: int
    output_bits: int
    shared: bool
    nodes: tuple[str, ...]


def table_inputs(program: Program, node: Node) -> Iterator[Tensor]:
    """Yield the tables that `node` reads."""
    if node.op not in ops.REGISTRY:
        return
    for declared, tensor in zip(ops.REGISTRY[node.op].inputs, program.inputs_of(node), strict=False):
        name = declared.rstrip("?*")
        if tensor.is_constant and (name == "table" or name.endswith("_table")):
            yield tensor


def tables_of(program: Program, rows: Iterable[Row]) -> tuple[TableUse, ...]:
    """Return every table of `program` once, in order of first use; `rows` give the widths of the lookups."""
    widths: dict[str, int] = {}
    for row in rows:
        if row.primitive == "lut":
            widths[row.node] = max(widths.get(row.node, 0), row.widths[0])
    readers: dict[str, list[Node]] = {}
    for node in program.nodes:
        for tensor in table_inputs(program, node):
            readers.setdefault(tensor.name, []).append(node)
    return tuple(
        TableUse(
            name,
            program.tensors[name].sample_size,
            max(widths.get(n.name, 0) for n in nodes),
            program.tensors[name].format.bits,
            len(program.tensors[name].shape) == 1,
            tuple(n.name for n in nodes),
        )
        for name, nodes in readers.items()
    )
