"""`multiply`: rows of sums on the level of a product, which the type of its first argument names.

So a kernel is written once for all levels, and compiled, and cached, for each one that it is called on.
"""

from __future__ import annotations

from typing import NamedTuple

from numba.extending import overload

from mfsim.kernels.gemm import amx, avx2, distance_block, portable, vnni


class Amx(NamedTuple):
    """Steps of products of signed operands, of unsigned left ones, and of unsigned right ones."""

    ss: int
    us: int
    su: int


class Vnni(NamedTuple):
    """Steps of products with unsigned left operands, and with unsigned right ones."""

    us: int
    su: int


class Avx2(NamedTuple):
    """Steps of products of 16-bit operands."""

    steps: int


class Portable(NamedTuple):
    """Steps of products of 16-bit operands."""

    steps: int


class Terms(NamedTuple):
    """Sums of distances, or where `minimum` is 1 of minima; `size` terms are added in their own word."""

    minimum: int
    size: int
    columns: int


def multiply(level, left, stride, table, panels, start, c, count):
    """Fill `count` rows of c int32 [rows, width], and perhaps some more, with `start` and the products of a row.

    Row i of the left operands lies at left + i * stride + table[k] in step k of the product; numbers are of bytes.

    Parameters
    ----------
    level : Amx, Vnni, Avx2, Portable or Terms
        Steps of the product; its type names the level.
    left, stride : int64
        Address of the first row of left operands, and bytes from row to row.
    table : int64 array, shape (steps,)
        Offset of each step in a row, in bytes.
    panels : array, shape (panels, depth / group, 16, group)
        Right operands, packed for the level; for `Terms` [columns / lanes, depth, lanes].
    start : int32 array, shape (width,)
        Added to the sums of each column.
    c : int32 array, shape (rows, width)
        Filled; rows is at least `count` rounded up to a block of the level.
    count : int
        Rows, at least 0.
    """


@overload(multiply)
def _multiply(level, left, stride, table, panels, start, c, count):
    kind = getattr(level, "instance_class", None)
    if kind is Amx:

        def rows(level, left, stride, table, panels, start, c, count):
            shapes = amx.SHAPES
            amx.rows(left, stride, table, panels, start, shapes, level.ss, level.us, level.su, c, count)

        return rows
    if kind is Vnni:

        def rows(level, left, stride, table, panels, start, c, count):
            vnni.rows(left, stride, table, panels, start, level.us, level.su, c, count)

        return rows
    if kind is Avx2:

        def rows(level, left, stride, table, panels, start, c, count):
            avx2.rows(left, stride, table, panels, start, c, count)

        return rows
    if kind is Portable:

        def rows(level, left, stride, table, panels, start, c, count):
            portable.rows(left, stride, table, panels, start, c, count)

        return rows
    if kind is Terms:

        def rows(level, left, stride, table, panels, start, c, count):
            first = left + table[0]
            distance_block.fill_sums(
                first, stride, panels, start, level.size, level.minimum, level.columns, c, count
            )  # fmt: skip

        return rows
    return None
