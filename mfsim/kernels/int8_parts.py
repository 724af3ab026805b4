"""From ranges and weights to int8 products: which parts a dense or a multiplication-free product has.

On every grid an MF product is, as a number, sum sign(x) w' 2^shift_w + x' sign(w) 2^shift_x with x', w' the operands
or their magnitudes. The two parts are one dot product where the shifts fit into its 8-bit operands, and else two
products whose sums are shifted and added.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from mfsim.kernels.emit import piece
from mfsim.kernels.fits import NOTHING, Fit, by_row, fit_one, fitted
from mfsim.kernels.int8_product import Int8Product, Part, scratch
from mfsim.kernels.int8_product import up as aligned_up
from mfsim.kernels.int8_take import MAGNITUDE, SIGN, VALUE
from mfsim.kernels.jit import kernel
from mfsim.kernels.words import add, up

_BYTE = (-128, 127)
_WORD = (-(2**31), 2**31 - 1)


class Sums(NamedTuple):
    """An int8 product and the left shift of each of its outputs, int64 [outputs]."""

    product: Int8Product
    shifts: np.ndarray


def within(values, limits):
    """Return whether every one of `values` (an array or a tuple) lies in limits, both ends included."""
    return limits[0] <= int(np.min(values)) and int(np.max(values)) <= limits[1]


def kind_of(left, right):
    """Return the kind of a part for the ranges (low, high) of its operands, or None if one is wider than 8 bits."""
    if within(left, _BYTE):
        return "ss" if within(right, _BYTE) else "su" if within(right, (0, 255)) else None
    return "us" if within(left, (0, 255)) and within(right, _BYTE) else None


def _extent(codes):
    return (int(codes.min()), int(codes.max())) if codes.size else (0, 0)


def dense_sums(x, w, bias, y, probe=None):
    """Return the `Sums` of x w + bias for w [k, n], or None if words are too wide.

    `x` and `y` are ranges (low, high); `bias` int64 [n]. `probe` [any, n] has the extreme codes of w, if w has not.
    """
    kind = kind_of(x, _extent(w if probe is None else probe))
    if kind is None or not within(y, _WORD):
        return None
    return [Sums(Int8Product([Part(kind)], w, bias), np.zeros(w.shape[1], np.int64))]


def mf_sums(x, w, bias, y, attributes, probe=None):
    """Return one or two `Sums` whose total is the MF product of x and w [k, n], with bias; None if words are too wide.

    Arguments as those of `dense_sums`; `attributes` are those of an MF op.
    """
    probe = w if probe is None else probe
    zero, outputs, what, values = attributes["sign_zero"], w.shape[1], VALUE, probe
    shift_x, shift_w = (np.resize(np.array(attributes[name], np.int64), outputs) for name in ("shift_x", "shift_w"))
    if attributes["form"] == "abs":
        what, x, values = MAGNITUDE, (0, max(abs(x[0]), abs(x[1]))), np.abs(probe)
    signs = np.sign(probe) + zero * (probe == 0)
    together = _together(what, x, values, signs, shift_x, shift_w, zero)
    if together is not None and within(y, _WORD):
        return [Sums(Int8Product(together, w, bias), np.zeros(outputs, np.int64))]
    kinds = kind_of(x, (-1, 1)), kind_of((-1, 1), _extent(values))
    largest = int(np.abs(bias).max(initial=0)) + 256 * len(w)
    if None in kinds or largest > _WORD[1]:
        return None
    # The bias lies on the finer grid, which is that of the sums that are not shifted.
    starts = np.where(shift_x == 0, bias, 0), np.where(shift_x == 0, 0, bias)
    return [
        Sums(Int8Product([Part(kinds[0], what, SIGN, zero)], w, starts[0]), shift_x),
        Sums(Int8Product([Part(kinds[1], SIGN, what, zero)], w, starts[1]), shift_w),
    ]


def _together(what, x, values, signs, shift_x, shift_w, zero):
    """Return both parts on one grid, or None if the shifts do not fit into 8 bits."""
    if max(shift_x.max(initial=0), shift_w.max(initial=0)) > 7:
        return None
    places, shift = 0, shift_w
    if kind_of((-1, 1), _extent(values << shift_w)) is None and len(set(shift_w.tolist())) == 1:
        # The other operand of the part takes the shift.
        places, shift = int(shift_w[0]), 0
    kinds = kind_of(x, _extent(signs << shift_x)), kind_of((-(1 << places), 1 << places), _extent(values << shift))
    if None in kinds:
        return None
    return [Part(kinds[0], what, SIGN, zero, 0, shift_x), Part(kinds[1], SIGN, what, zero, places, shift)]


@functools.cache
def joining(word, plain, two):
    """Return the kernel that fits the int32 sums of one product, or of `two` shifted and added, into y [m, n].

    It returns how many did not fit. `second` and the shifts are not read where there is one product.
    """

    @kernel
    def join(first, shift, second, other_shift, rules, lo, hi, kept, y):
        events, low, high, columns = 0, word(lo), word(hi), y.shape[1]
        left, places, added, odd, below, floor = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
        for i in range(y.shape[0]):
            found, out = word(0), piece(y, i * columns, columns)
            sums, others = piece(first, i * first.shape[1], columns), piece(second, i * second.shape[1], columns)
            for n in range(out.size):
                total = word(sums[n])
                if two:
                    total = add(up(total, word(shift[n])), up(word(others[n]), word(other_shift[n])))
                code, kept_code = fit_one(
                    plain, total, left[n], places[n], added[n], odd[n], below[n], floor[n], low, high, kept
                )
                found = add(found, word(code != kept_code))
                out[n] = kept_code
            events += found
        return events

    return join


class Ending(NamedTuple):
    """What becomes of sums: their `Fit`, with one rule or one for each column, and the same `wide`, with one for each."""

    fit: Fit
    wide: Fit
    changes: bool


def ending(after, y, columns):
    """Return the `Ending` of sums in the range y (low, high) with the `Fit` `after`, or None to leave them as they are."""
    fit: Any = after or fitted(y[0], y[1], [NOTHING], y)
    rules = np.ascontiguousarray(np.broadcast_to(fit.rules, (len(fit.rules), columns)))
    return Ending(fit, fit._replace(rules=rules), after is not None)


def part_of(end, columns):
    """Return the `Ending` of some of the columns, a slice."""
    rules = np.ascontiguousarray(end.wide.rules[:, columns])
    wide = end.wide._replace(rules=rules)
    return end._replace(fit=wide if end.fit.rules.shape[1] > 1 else end.fit, wide=wide)


def matrix(sums, end, x, y):
    """Fill y [m, n] from x [m, k], some rows at a time so that they stay in the cache; return the misfits."""
    chunk = min(each.product.chunk for each in sums)
    events = 0
    for first in range(0, len(x), chunk):
        part = x[first : first + chunk]
        found = [int32_rows(each.product, part, f"sums {number}") for number, each in enumerate(sums)]
        events += joined(sums, found, end, y[first : first + chunk])
    return events


def int32_rows(product, x, name):
    """Return the int32 sums [m, n and more] of x [m, k] in a buffer of this thread called `name`."""
    rows = aligned_up(len(x), product.layout.rows)
    a = scratch.get("rows", (rows, product.depth), product.layout.word)
    c = scratch.get(name, (rows, product.width), np.int32)
    product.fill(x, a)
    product.rows(a, c)
    return c


def one_rule(sums, end):
    """Whether the sums are those of one product, and one rule holds for all of them."""
    return len(sums) == 1 and end.fit.rules.shape[1] == 1


def joined(sums, found, end, y):
    """Fill y [m, n] with the int32 sums of one or two products, fitted; return the misfits."""
    if one_rule(sums, end) and found[0].shape[1] == y.shape[1]:
        fit, codes = end.fit, found[0][: len(y)]
        return by_row(fit.word, fit.plain)(codes.reshape(1, -1), fit.rules, fit.lo, fit.hi, fit.kept, y.reshape(1, -1))
    fit, shifts = end.wide, (sums[0].shifts, sums[-1].shifts)
    join = joining(fit.word, fit.plain, len(sums) == 2)
    return join(found[0], shifts[0], found[-1], shifts[1], fit.rules, fit.lo, fit.hi, fit.kept, y)
