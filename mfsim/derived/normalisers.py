"""What the tables of softmax and tanh-l1 share: the length of a row in bits, thresholds, one for reciprocals."""

from __future__ import annotations

import math

from mfsim.errors import FormatError, ShapeError


def row_bits(length: int) -> int:
    """Return n = ceil(log2 length): a sum of `length` words takes n more bits."""
    if length < 1:
        raise ShapeError(f"a row must have at least 1 entry, not {length}")
    return (length - 1).bit_length()


def default_fraction(length: int) -> int:
    """Return F = max(8, n + 1): on the grid 2**-F a mean weight of a row of `length` is at least 2 LSB."""
    return max(8, row_bits(length) + 1)


def nearest_power_thresholds(count: int) -> tuple[int, ...]:
    """Return ceil(2**(j - 1/2)) for j = 1 .. count.

    The number of them that an integer v >= 1 reaches is k with 2**(k - 1/2) <= v < 2**(k + 1/2): the nearest
    power of two in the log domain, as long as v < 2**(count + 1/2).
    """
    # 2**(2j - 1) is no square, so the floor of its root is one below the ceiling.
    return tuple(math.isqrt(1 << (2 * j - 1)) + 1 for j in range(1, count + 1))


def check_bits(name: str, bits: int, least: int, most: int) -> int:
    """Return `bits`; a `FormatError` unless it is in least..most."""
    if not least <= bits <= most:
        raise FormatError(f"`{name}` must be in {least}..{most}, not {bits}")
    return bits
