"""The primitive operations of a device: what the plain kernels may do to a code.

Each counts as one operation of the primitive named in its first line. All work on int64 scalars.
None multiplies but `mul`. Shift amounts, modes of `addsub` that come from constants, and loop
indices are wiring, not operations.
"""

from __future__ import annotations

import math

from mfsim.kernels.jit import primitive

NAMES = ("addsub", "neg", "abs", "sign", "cmp", "select", "shift", "or", "lut", "mul", "div", "sqrt")
"""Every primitive that is counted, in the order of the report."""


@primitive
def addsub(total, operand, mode):
    """addsub: return total + operand, total - operand or total, as mode is +1, -1 or 0.

    Parameters
    ----------
    total, operand : int64; codes on one grid
    mode : int; -1, 0 or +1

    Returns
    -------
    int64
        The sum; the caller proves that it fits 64 bits.
    """
    return total + (operand if mode > 0 else (-operand if mode < 0 else 0))


@primitive
def negate(value, mode):
    """neg: return value, -value or 0, as mode is +1, -1 or 0.

    Parameters
    ----------
    value : int64; a code, not -2**63
    mode : int; -1, 0 or +1

    Returns
    -------
    int64
        mode * value.
    """
    if mode > 0:
        return value
    if mode < 0:
        return -value
    return value - value


@primitive
def absolute(value):
    """abs: return the magnitude.

    Parameters
    ----------
    value : int64; a code, not -2**63

    Returns
    -------
    int64
        abs(value), at least 0.
    """
    return -value if value < 0 else value


@primitive
def sign(value, zero):
    """sign: return -1 or +1, and `zero` (0 or +1) for the code 0.

    Parameters
    ----------
    value : int64; a code
    zero : int; 0 or +1, the sign of the code 0

    Returns
    -------
    int64
        -1, 0 or +1.
    """
    if value > 0:
        return 1
    if value < 0:
        return -1
    return zero


@primitive
def less(left, right):
    """cmp: return whether left < right.

    Parameters
    ----------
    left, right : int64; codes on one grid

    Returns
    -------
    bool
        left < right.
    """
    return left < right


@primitive
def select(condition, yes, no):
    """select: return yes if condition else no.

    Parameters
    ----------
    condition : bool; what decides
    yes, no : int64; codes

    Returns
    -------
    int64
        `yes` or `no`.
    """
    return yes if condition else no


@primitive
def shift_left(value, places):
    """shift: return value * 2**places, for places > 0.

    Parameters
    ----------
    value : int64; a code
    places : int; bits, 1 to 62; the caller proves that the result fits 64 bits

    Returns
    -------
    int64
        The shifted code.
    """
    return value << places


@primitive
def shift_right(value, places):
    """shift: return floor(value / 2**places), for 0 < places < 64.

    Parameters
    ----------
    value : int64; a code
    places : int; bits, 1 to 63

    Returns
    -------
    int64
        The shifted code, rounded towards minus infinity.
    """
    return value >> places


@primitive
def tie_to_even(value, floored, places):
    """or: return the round-up bit of half-even rounding: guard and (sticky or lowest kept bit).

    Parameters
    ----------
    value : int64; the code before the shift
    floored : int64; floor(value / 2**places)
    places : int; bits that were dropped, 1 to 62

    Returns
    -------
    int
        0 or 1, to be added to `floored`.
    """
    rest = value - (floored << places)
    half = 1 << (places - 1)
    if rest > half:
        return 1
    if rest == half:
        return floored & 1
    return 0


@primitive
def lookup(table, index):
    """lut: return table[index].

    Parameters
    ----------
    table : array, shape (entries,); entries, addressed from 0
    index : int64; address, 0 to entries - 1; it is not checked

    Returns
    -------
    int64
        The entry.
    """
    return table[index]


@primitive
def mul(left, right):
    """mul: return the product.

    Parameters
    ----------
    left, right : int64; codes; the caller proves that the product fits 64 bits

    Returns
    -------
    int64
        left * right.
    """
    return left * right


@primitive
def divide(value, divisor):
    """div: return floor(value / divisor), for value >= 0 and divisor > 0.

    Parameters
    ----------
    value : int64; dividend, at least 0
    divisor : int64; at least 1

    Returns
    -------
    int64
        The quotient, rounded down.
    """
    return value // divisor


@primitive
def root(value):
    """sqrt: return the floor of the square root, for 0 <= value < 2**62.

    Parameters
    ----------
    value : int64; radicand, 0 to 2**62 - 1

    Returns
    -------
    int64
        floor(sqrt(value)), 0 to 2**31 - 1.
    """
    found = int(math.sqrt(value))
    if found * found > value:
        return found - 1
    if (found + 1) * (found + 1) <= value:
        return found + 1
    return found


@primitive
def host_differs(left, right):
    """Nothing: bookkeeping of the simulator (overflow events), not an operation of the device.

    Parameters
    ----------
    left, right : int64; codes before and after a word is fitted

    Returns
    -------
    bool
        Whether they differ.
    """
    return left != right


@primitive
def host_index(code):
    """Nothing: use a code as a table address (wiring).

    Parameters
    ----------
    code : int64; a code of at least 0

    Returns
    -------
    int64
        The same number.
    """
    return code


@primitive
def host_with_bit(address, bit):
    """Nothing: set a bit of a table address that was 0 (wiring).

    Parameters
    ----------
    address : int64; an address whose bit `bit` is 0
    bit : int64; the weight of the bit, a power of two

    Returns
    -------
    int64
        address + bit.
    """
    return address + bit


@primitive
def host_places(places, more):
    """Nothing: shift by a constant number of places more (wiring).

    Parameters
    ----------
    places, more : int; bits

    Returns
    -------
    int
        places + more.
    """
    return places + more


@primitive
def host_sign_bit(value):
    """Nothing: the sign bit of a word, a condition of `select` (wiring).

    Parameters
    ----------
    value : int64; a code

    Returns
    -------
    bool
        value < 0.
    """
    return value < 0


@primitive
def host_mode(value):
    """Nothing: the sign bit of a word as a mode of `addsub` or `negate`, -1 or +1 (wiring).

    Parameters
    ----------
    value : int64; a code

    Returns
    -------
    int
        -1 where value < 0, else +1.
    """
    return -1 if value < 0 else 1


@primitive
def host_wrap(code, bits, signed):
    """Nothing: keep the low `bits` bits, read as two's complement if `signed` (wiring).

    Parameters
    ----------
    code : int64; a code
    bits : int; width of the word, 1 to 63
    signed : bool; whether the word is in two's complement

    Returns
    -------
    int64
        The code modulo 2**bits, in -2**(bits-1)..2**(bits-1)-1 if `signed`, else in 0..2**bits-1.
    """
    kept = code & ((1 << bits) - 1)
    if signed and kept >> (bits - 1):
        return kept - (1 << bits)
    return kept
