"""The primitive operations of a device: what the plain forms may do to a code.

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
    """addsub: return total + operand, total - operand or total, as mode is +1, -1 or 0."""
    return total + (operand if mode > 0 else (-operand if mode < 0 else 0))


@primitive
def negate(value, mode):
    """neg: return value, -value or 0, as mode is +1, -1 or 0."""
    if mode > 0:
        return value
    if mode < 0:
        return -value
    return value - value


@primitive
def absolute(value):
    """abs: return the magnitude."""
    return -value if value < 0 else value


@primitive
def sign(value, zero):
    """sign: return -1 or +1, and `zero` (0 or +1) for the code 0."""
    if value > 0:
        return 1
    if value < 0:
        return -1
    return zero


@primitive
def less(left, right):
    """cmp: return whether left < right."""
    return left < right


@primitive
def select(condition, yes, no):
    """select: return yes if condition else no."""
    return yes if condition else no


@primitive
def shift_left(value, places):
    """shift: return value * 2**places, for places > 0."""
    return value << places


@primitive
def shift_right(value, places):
    """shift: return floor(value / 2**places), for 0 < places < 64."""
    return value >> places


@primitive
def tie_to_even(value, floored, places):
    """or: return the round-up bit of half-even rounding: guard and (sticky or lowest kept bit)."""
    rest = value - (floored << places)
    half = 1 << (places - 1)
    if rest > half:
        return 1
    if rest == half:
        return floored & 1
    return 0


@primitive
def lookup(table, index):
    """lut: return table[index]."""
    return table[index]


@primitive
def mul(left, right):
    """mul: return the product."""
    return left * right


@primitive
def divide(value, divisor):
    """div: return floor(value / divisor), for value >= 0 and divisor > 0."""
    return value // divisor


@primitive
def root(value):
    """sqrt: return the floor of the square root, for 0 <= value < 2**62."""
    found = int(math.sqrt(value))
    if found * found > value:
        return found - 1
    if (found + 1) * (found + 1) <= value:
        return found + 1
    return found


@primitive
def host_differs(left, right):
    """Nothing: bookkeeping of the simulator (overflow events), not an operation of the device."""
    return left != right


@primitive
def host_index(code):
    """Nothing: use a code as a table address (wiring)."""
    return code


@primitive
def host_with_bit(address, bit):
    """Nothing: set a bit of a table address that was 0 (wiring)."""
    return address + bit


@primitive
def host_places(places, more):
    """Nothing: shift by a constant number of places more (wiring)."""
    return places + more


@primitive
def host_sign_bit(value):
    """Nothing: the sign bit of a word, a condition of `select` (wiring)."""
    return value < 0


@primitive
def host_mode(value):
    """Nothing: the sign bit of a word as a mode of `addsub` or `negate`, -1 or +1 (wiring)."""
    return -1 if value < 0 else 1


@primitive
def host_wrap(code, bits, signed):
    """Nothing: keep the low `bits` bits, read as two's complement if `signed` (wiring)."""
    kept = code & ((1 << bits) - 1)
    if signed and kept >> (bits - 1):
        return kept - (1 << bits)
    return kept
