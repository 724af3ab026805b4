"""The lookup tables of a program: their entries, their words and the nodes that read them.

A table is a constant input whose role is `Role.TABLE` or `Role.STEPS`. It is shared by all channels when it has one axis and no other table is read with another
slice of the same tensor.

A table may hide a product by a constant: `hidden_gain` finds those that are an affine map, rounded and
saturated, whose slope is no power of two. Thresholds, which are searched, and a table that is read only
at the result of a search are step functions and no products.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mfsim import ops
from mfsim.analysis.affine import holds_power_of_two, rising_slopes, simplest
from mfsim.ir.program import Node, Program, Tensor
from mfsim.ops.op import Row
from mfsim.ops.traits import Role, Trait


@dataclass(frozen=True)
class TableUse:
    """A lookup table of `entries` words of `output_bits`, read with codes of `input_bits` by `nodes`.

    `gain` is the constant that it multiplies by, read by the node `product_at`; 0 and "" where it is no product.
    """

    name: str
    entries: int
    input_bits: int
    output_bits: int
    shared: bool
    nodes: tuple[str, ...]
    gain: Fraction = Fraction(0)
    product_at: str = ""


THROUGH = (Trait.VIEW, Trait.PERMUTES, Trait.SELECTS)
"""Traits of ops through which a table still reads codes of the tensor behind them."""


FEWEST_ENTRIES = 4
"""Distinct entries between the saturated ends from which on a table can be a product; fewer are a few comparisons."""

NARROWEST_WRAP = 4
"""Bits of a word from which on steps of half of it and more are no accident."""


def hidden_gain(entries: np.ndarray, bits: int = 63) -> Fraction:
    """Return the constant that a table multiplies by, 0 where it is no product.

    A table is a product if its entries are an affine map of the index, rounded to within half a step and
    saturated at both ends, and no such map has a slope of 0 or of a power of two with either sign, which
    is a shift. Equal entries at an end count as saturated, so that max(0, 0.7 x) is a product as well. A
    table of at most three distinct entries between its ends is a few comparisons and no product.

    Parameters
    ----------
    entries : integers [n], n at least 1, in the order of the codes that address them.
    bits : width of their word. From `NARROWEST_WRAP` on, entries are judged as a map that wraps around in it, too.

    Returns
    -------
    the fraction of the least denominator among the slopes that fit, with its sign; 0 for no product.
    """
    codes = [int(code) for code in np.asarray(entries).reshape(-1)]
    if gain := _gain(codes):
        return gain
    unwrapped = _unwrapped(codes, bits)
    return _gain(unwrapped) if bits >= NARROWEST_WRAP and unwrapped != codes else gain


def _unwrapped(codes: list[int], bits: int) -> list[int]:
    """Return `codes` with every step taken modulo 2**bits as the nearest to 0."""
    half = 1 << (bits - 1)
    steps = [(b - a + half) % (2 * half) - half for a, b in itertools.pairwise(codes)]
    return list(itertools.accumulate(steps, initial=codes[0]))


def _gain(codes: list[int]) -> Fraction:
    """Return `hidden_gain` of a map that does not wrap around."""
    if len(set(codes) - {codes[0], codes[-1]}) < FEWEST_ENTRIES:
        return Fraction(0)
    slopes = [(sign, rising_slopes([sign * code for code in codes])) for sign in (1, -1)]
    fitting = [(sign, *found) for sign, found in slopes if found is not None]
    if any(holds_power_of_two(low, high) for _, low, high in fitting):
        return Fraction(0)
    return next((sign * simplest(low, high) for sign, low, high in fitting if high is not None), Fraction(0))


def _addressed(node: Node, x: Tensor, table: Tensor) -> list[np.ndarray]:
    """Return what of `table` has to be judged: all of it, and the entries that codes of x can meet."""
    codes = np.asarray(table.codes).reshape(-1)
    if "first" not in node.attributes:  # the index is no code of x
        return [codes]
    first: Any = node.attributes["first"]
    low, high = (min(max(end - first, 0), codes.size - 1) for end in (x.range.low, x.range.high))
    return [codes, codes[low : high + 1]]


def _sliced_source(program: Program, node: Node) -> str:
    """Return the tensor of which `node` reads a slice, through layout ops; "" if it reads no slice."""
    makers = {output: maker for maker in program.nodes for output in maker.outputs}
    name, sliced = node.inputs[0], False
    while name in makers and any(makers[name].op in ops.named(trait) for trait in THROUGH):
        sliced |= makers[name].op in ops.named(Trait.SELECTS)
        name = makers[name].inputs[0]
    return name if sliced else ""


def table_inputs(program: Program, node: Node) -> Iterator[tuple[Tensor, bool]]:
    """Yield the tables that `node` reads, and whether it reads them in a search, or at its result, only.

    Parameters
    ----------
    program : Program
        The program of the node.
    node : Node
        Any node; one of an unknown op reads no table.

    Yields
    ------
    tuple of (Tensor, bool)
        A constant of role `Role.TABLE` or `Role.STEPS`, and True for `Role.STEPS`.
    """
    if node.op not in ops.REGISTRY:
        return
    op = ops.REGISTRY[node.op]
    for declared, tensor in zip(op.inputs, program.inputs_of(node), strict=False):
        role = op.roles.get(declared.rstrip("?*"))
        if tensor.is_constant and role in (Role.TABLE, Role.STEPS):
            yield tensor, role is Role.STEPS


def tables_of(program: Program, rows: Iterable[Row]) -> tuple[TableUse, ...]:
    """Return every table of `program` once, in order of first use; `rows` give the widths of the lookups.

    Parameters
    ----------
    program : Program
        The integer program.
    rows : iterable of Row
        Its counted operations; the first width of a "lut" is that of the index in bits.

    Returns
    -------
    tuple of TableUse
        Size, widths in bits, sharing, readers and hidden gain of each table.
    """
    widths: dict[str, int] = {}
    for row in rows:
        if row.primitive == "lut":
            widths[row.node] = max(widths.get(row.node, 0), row.widths[0])
    readers: dict[str, list[Node]] = {}
    gains: dict[str, tuple[Fraction, str]] = {}
    for node in program.nodes:
        for tensor, searched in table_inputs(program, node):
            readers.setdefault(tensor.name, []).append(node)
            for entries in () if searched else _addressed(node, program.inputs_of(node)[0], tensor):
                if tensor.name not in gains and (gain := hidden_gain(entries, tensor.format.bits)):
                    gains[tensor.name] = gain, node.name
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
            *gains.get(name, (Fraction(0), "")),
        )
        for name, nodes in readers.items()
    )
