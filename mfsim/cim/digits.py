"""How an operand is cut into digits that a line carries or a cell stores.

A word without sign is cut into digits of at most `width` bits. A two's complement word has its sign
bit as a plane of its own, whose sums are subtracted, so a word of b bits takes b planes of one bit.
Lines that carry -1, 0, 1 take the planes of the magnitude instead.

A sign takes one plane. With at most two values it needs one bit: where they are -1 and +1, the bit says
which, and 2 * (sum where it is set) - (sum of all) gives the signed sum. With three values (`sign_zero`
0) positive and negative operands are summed apart, in two passes, and the sums subtracted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mfsim.ir.formats import Format


@dataclass(frozen=True)
class Digits:
    """An operand in digits.

    Attributes
    ----------
    planes : digits of different weight.
    largest : the greatest magnitude of a digit.
    top : exponent of the highest plane: its digits weigh 2**top.
    signed : whether a digit may be negative.
    passes : 2 where positive and negative operands are summed apart, else 1.
    corrected : whether the sum of everything is to be subtracted from twice the sum.
    """

    planes: int
    largest: int = 1
    top: int = 0
    signed: bool = False
    passes: int = 1
    corrected: bool = False


def word_digits(word: Format, width: int, signed_lines: bool = False) -> Digits:
    """Return the digit decomposition of codes of `word`, in digits of at most `width` bits.

    Parameters
    ----------
    word : Format
        The format of the codes, signed or not.
    width : int, at least 1
        The most bits of a digit.
    signed_lines : bool
        Whether a line carries a sign, so that a signed code is driven as sign and magnitude.

    Returns
    -------
    Digits
        Planes, the largest digit, and how a sign is handled.

    Examples
    --------
    >>> word_digits(Format(8), 1).planes, word_digits(Format(8), 2).planes, word_digits(Format(8, False), 2).planes
    (8, 5, 4)
    """
    if signed_lines and word.signed:
        magnitude = (-word.lo).bit_length()
        return _plain(magnitude, width, signed=True)
    if not word.signed:
        return _plain(word.bits, width, signed=False)
    below = -(-(word.bits - 1) // width)
    return Digits(below + 1, (1 << max(1, min(width, word.bits - 1))) - 1, word.bits - 1)


def _plain(bits: int, width: int, signed: bool) -> Digits:
    planes = -(-bits // width)
    return Digits(planes, (1 << min(width, bits)) - 1, (planes - 1) * width, signed)


def sign_digits(values: Collection[int], signed_lines: bool = False) -> Digits:
    """Return the digit of a sign that takes only `values` (of -1, 0, 1).

    Parameters
    ----------
    values : collection of int
        The signs that occur, a subset of {-1, 0, 1}.
    signed_lines : bool
        Whether a line carries -1, 0 and 1 in one step.

    Returns
    -------
    Digits
        One plane; in two passes where three signs occur on unsigned lines.

    Examples
    --------
    >>> sign_digits({-1, 0, 1}).passes, sign_digits({-1, 1}).corrected, sign_digits({0, 1})
    (2, True, Digits(planes=1, largest=1, top=0, signed=False, passes=1, corrected=False))
    """
    found = set(values)
    if signed_lines and -1 in found:
        return Digits(1, signed=True)
    return Digits(1, passes=2 if len(found) == 3 else 1, corrected=found == {-1, 1})


def signs_in(lo: int, hi: int, sign_zero: int) -> set[int]:
    """Return the set of signs that codes of lo..hi have.

    Parameters
    ----------
    lo, hi : int
        The range of the codes, both ends included.
    sign_zero : int
        The sign of code 0: 0 or 1.

    Returns
    -------
    set of int
        A subset of {-1, 0, 1}.
    """
    found = {-1} if lo < 0 else set()
    if hi > 0:
        found.add(1)
    if lo <= 0 <= hi:
        found.add(sign_zero)
    return found
