"""Rows of single primitives, as the rules of `mfsim/shapes` make them."""

from __future__ import annotations

import math
from typing import Any

import torch

from mfsim.ops.op import Row


def bits_of(x: Any) -> int:
    """Return the width of a tensor's element type; bool is 1 bit."""
    if not isinstance(x, torch.Tensor) or x.dtype == torch.bool:
        return 1
    return x.element_size() * 8


def row(primitive: str, bits: int, count: int, by: str = "", operands: int = 2) -> Row:
    """Return `count` executions of a primitive on words of `bits` bits."""
    return Row("", "", "", primitive, (bits,) * operands, count, by)


def factor_rows(value: float, bits: int, count: int) -> list[Row]:
    """Return the rows of multiplying `count` values by a number."""
    if abs(value) == 1:
        return []
    if value and math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5:
        return [row("shift", bits, count, operands=1)]
    return [row("mul", bits, count, "fixed")]
