"""Tensors that have a shape and a word but no codes, and rows of single primitives: what counts a network that was never built."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import torch

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Tensor, Value
from mfsim.ops.op import Op, Row

# Tensors that have a shape and a word but no codes, so that `Op.count` counts what was never built.
#
# The count of an op reads shapes, words, scales and whether an operand is constant, never the codes. A
# `Sized` gives it these for a tensor of torch: its word is as wide as the element type, and so is every
# word inside the op, because a float stays as wide as it is, whatever is added to it.

WORDS = (
    *("acc", "acc_x", "acc_w", "product", "shifted"),
    *("magnitude", "magnitude_x", "magnitude_w", "difference", "distance", "least"),
)
"""Inner words that the counts of ops ask for."""


@dataclass(frozen=True, eq=False)
class Sized(Tensor):
    """A tensor whose codes are not there; `constant` says whether they would be known before the network runs."""

    constant: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether the codes are known before the network runs."""
        return self.constant


def sized(shape: Sequence[int], bits: int, constant: bool = False) -> Sized:
    """Return a tensor of a shape and a word, without codes.

    Parameters
    ----------
    shape : sequence of int
        With a batch axis unless the tensor is `constant`.
    bits : int, at least 1
        Of a word, signed.
    constant : bool
        Whether the codes would be known before the network runs.

    Returns
    -------
    Sized
    """
    return Sized("", tuple(int(n) for n in shape), Format(bits), Scale(), Range.of(0, 0), None, constant)


_TAPS: ContextVar[str] = ContextVar("taps", default="executed")


@contextmanager
def counting_taps(taps: str) -> Iterator[None]:
    """Let `count_op` count the taps of windows that `taps` says, one of `mfsim.ops.op.TAPS`.

    Parameters
    ----------
    taps : {"executed", "valid"}
        Whether taps in the padding count.

    Yields
    ------
    None
    """
    token = _TAPS.set(taps)
    try:
        yield
    finally:
        _TAPS.reset(token)


def count_op(
    op: Op,
    inputs: Sequence[Sized],
    output: Sequence[int],
    attributes: Mapping[str, Value] | None = None,
) -> list[Row]:
    """Return the rows of one execution of `op` of the integer program, for layer and node "".

    Parameters
    ----------
    op : one of the integer program.
    inputs : activations with a batch axis of 1, and constants without.
    output : shape of the result, with the batch axis.
    attributes : those that are neither a default nor derived.
    """
    bits = inputs[0].format.bits
    complete = op.derived(inputs, attributes or {})
    node = Node("", op.name, (), (), complete, dict.fromkeys(WORDS, Format(bits)))
    rows = op.rows(node, list(inputs), [sized(output, bits)], _TAPS.get())
    return [replace(row, widths=(bits,) * len(row.widths)) for row in rows]


# Rows of single primitives, as the rules of `mfsim/op_counter` make them.


def bits_of(x: Any) -> int:
    """Return the width of a tensor's element type; bool is 1 bit.

    Parameters
    ----------
    x : tensor or number

    Returns
    -------
    int
        In bits; 1 for a number.
    """
    if not isinstance(x, torch.Tensor) or x.dtype == torch.bool:
        return 1
    return x.element_size() * 8


def row(primitive: str, bits: int, count: int, by: str = "", operands: int = 2) -> Row:
    """Return the row of a single primitive.

    Parameters
    ----------
    primitive : str
        Of `mfsim.analysis.count`, such as "mul".
    bits : int, at least 1
        Width of each operand.
    count : int, at least 0
        Executions.
    by : {"", "fixed", "learned", "activation"}
        What a multiplication multiplies by.
    operands : int, at least 1
        How many operands the primitive has.

    Returns
    -------
    Row
    """
    return Row("", "", "", primitive, (bits,) * operands, count, by)


def factor_rows(value: float, bits: int, count: int) -> list[Row]:
    """Return the rows of multiplying values by a number.

    Parameters
    ----------
    value : float
        The number: +-1 costs nothing, another power of two a shift.
    bits : int, at least 1
        Of a value.
    count : int, at least 0
        How many values there are.

    Returns
    -------
    list of Row
        One at most.
    """
    if abs(value) == 1:
        return []
    if value and math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5:
        return [row("shift", bits, count, operands=1)]
    return [row("mul", bits, count, "fixed")]
