"""What the fixed-point transforms share: what they ask of their inputs, and what their products cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.program import Tensor
from mfsim.ops.signed_digits import signed_digits

PRODUCTS = ("mul", "shift")
"""How products with constants are computed: as multiplications, or as shifts and additions of signed digits."""


def length_and_bits(
    op: str, x: Tensor, what: str, table: Tensor, expected: Callable[[int, int], tuple[int, ...]]
) -> tuple[int, int]:
    """Return n, the length of the last axis of x, and T: the constants of `op` lie on 2**-T.

    `what` names the constants, and `expected(n, T)` are their codes; it raises `ShapeError` for lengths that
    the transform does not have.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    x : Tensor, shape (batch, ..., n)
        An activation.
    what : str
        What the constants are, for errors.
    table : Tensor
        The constants, with one scale 2**-T.
    expected : callable
        `expected(n, T)` returns a tuple of ints.

    Returns
    -------
    n : int
        Codes of a transform.
    T : int
        Bits behind the point of the constants.

    Raises
    ------
    ShapeError, FormatError
        If x has no axis or several scales, or the constants are others.
    """
    if len(x.shape) < 2:
        raise ShapeError(f"x of op `{op}` must have an axis behind the batch, not {x.shape}")
    if x.scale.axis is not None:
        raise FormatError(f"x of op `{op}` must have one scale; requantize first")
    n = int(x.shape[-1])
    if not table.is_constant:
        raise FormatError(f"the {what} of op `{op}` must be a constant")
    assert table.codes is not None
    bits = -table.scale.exponents[0]
    if table.scale.axis is not None or tuple(int(code) for code in table.codes.reshape(-1)) != expected(n, bits):
        raise FormatError(f"the {what} of op `{op}` must be those of {n} codes on their scale")
    return n, bits


def cosines_met(n: int) -> dict[int, int]:
    """Return by its place in the table how often one transform of n real codes multiplies by a cosine.

    Parameters
    ----------
    n : int
        Length, a power of two of at least 4.

    Returns
    -------
    dict of int
        By k in 1..n/4 - 1 for cos(2 pi k / n), multiplications of one transform, each at least 2.
    """
    met: dict[int, int] = {}
    for m in (1 << s for s in range(3, n.bit_length())):
        for k in (place * n // m for place in range(1, m // 4)):
            for place in {k, n // 4 - k}:  # by 45 degrees one cosine serves both
                met[place] = met.get(place, 0) + 2 * n // m
    return met


def multiplied(
    codes: Mapping[int, int], bits: tuple[int, int], word: int, products: str, by: str
) -> list[tuple[Any, ...]]:
    """Return the operations of products of words of `bits`, {constant: how often}, whose digits lie in `word` bits.

    Parameters
    ----------
    codes : mapping of int to int
        By constant, products with it.
    bits : (int, int)
        Widths of the operand and of the constants.
    word : int
        Bits of the sums of shifted operands.
    products : {"mul", "shift"}
        One of `PRODUCTS`.
    by : str
        Class of the factor, one of `MULTIPLIED_BY` of `mfsim.ops.op`.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    if products == "mul":
        return [("mul", bits, sum(codes.values()), by)]
    digits = [(signed_digits(code), times) for code, times in codes.items()]
    return [
        ("shift", (bits[0],), sum(times * sum(place > 0 for place, _ in found) for found, times in digits)),
        ("addsub", (word, word), sum(times * max(len(found) - 1, 0) for found, times in digits)),
        ("neg", (word,), sum(times for found, times in digits if found and all(sign < 0 for _, sign in found))),
    ]
