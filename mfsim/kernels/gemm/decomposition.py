"""From ranges and weights to int8 products: which parts a dense or a multiplication-free product has.

On every grid an MF product is, as a number, sum sign(x) w' 2^shift_w + x' sign(w) 2^shift_x with x', w' the operands
or their magnitudes. The two parts are one dot product where the shifts fit into its 8-bit operands, and else two
products whose sums are shifted and added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfsim.kernels.gemm.operand_transform import MAGNITUDE, SIGN, VALUE
from mfsim.kernels.gemm.product import Int8Product, OperandTransform

_BYTE = (-128, 127)

_WORD = (-(2**31), 2**31 - 1)


class Sums(NamedTuple):
    """An int8 product and the left shift of each of its outputs, int64 [outputs]."""

    product: Int8Product
    shifts: np.ndarray


def within(values, limits):
    """Return whether every one of `values` (an array or a tuple) lies in limits, both ends included.

    Parameters
    ----------
    values : int array or tuple of int
        At least one value.
    limits : tuple of int
        (low, high).

    Returns
    -------
    bool
        Whether all lie inside.
    """
    return limits[0] <= int(np.min(values)) and int(np.max(values)) <= limits[1]


def kind_of(left, right):
    """Return the kind of a part for the ranges (low, high) of its operands, or None if one is wider than 8 bits.

    Parameters
    ----------
    left, right : tuple of int
        Ranges (low, high) of the operands of a part, in codes.

    Returns
    -------
    str or None
        One of `KINDS`: "ss", "us" or "su".
    """
    if within(left, _BYTE):
        return "ss" if within(right, _BYTE) else "su" if within(right, (0, 255)) else None
    return "us" if within(left, (0, 255)) and within(right, _BYTE) else None


def _extent(codes):
    return (int(codes.min()), int(codes.max())) if codes.size else (0, 0)


def dense_sums(x, w, bias, y, run, probe=None):
    """Return the `Sums` of x w + bias for w [k, n], or None if words are too wide.

    `x` and `y` are ranges (low, high); `bias` int64 [n]; `run` is that of an `Int8Product`. `probe` [any, n] has the
    extreme codes of w, if w has not.

    Parameters
    ----------
    x : tuple of int
        Range (low, high) of the left operand, in codes.
    w : int64 array, shape (k, n)
        Codes of the right operand.
    bias : int64 array, shape (n,)
        Added to the sums, in LSBs of the sums.
    y : tuple of int
        Proved range (low, high) of the sums; the product is made only if it fits int32.
    run : int or None
        Operands of a row that lie together, a divisor of k.
    probe : int64 array, shape (any, n), or None
        Extreme codes of w; by default w itself.

    Returns
    -------
    list of Sums or None
        One product without a shift.
    """
    kind = kind_of(x, _extent(w if probe is None else probe))
    if kind is None or not within(y, _WORD):
        return None
    return [Sums(Int8Product([OperandTransform(kind)], w, bias, run), np.zeros(w.shape[1], np.int64))]


def mf_sums(x, w, bias, y, attributes, run, probe=None):
    """Return one or two `Sums` that make up the multiplication-free product of x and w [k, n]; None if words are too wide.

    Arguments as those of `dense_sums`; `attributes` are those of an MF op.

    Parameters
    ----------
    x : tuple of int
        Range (low, high) of the left operand, in codes.
    w : int64 array, shape (k, n)
        Codes of the right operand.
    bias : int64 array, shape (n,)
        Added to the sums, in LSBs of the sums.
    y : tuple of int
        Proved range (low, high) of the sums.
    attributes : mapping
        `sign_zero` (0 or 1), `form` ("ef" or "abs"), `shift_x` and `shift_w` (bits, one or one for each
        output).
    run : int or None
        Operands of a row that lie together, a divisor of k.
    probe : int64 array, shape (any, n), or None
        Extreme codes of w; by default w itself.

    Returns
    -------
    list of Sums or None
        One product of both parts, or one of each part with its shifts.
    """
    probe = w if probe is None else probe
    zero, outputs, what, values = attributes["sign_zero"], w.shape[1], VALUE, probe
    shift_x, shift_w = (np.resize(np.array(attributes[name], np.int64), outputs) for name in ("shift_x", "shift_w"))
    if attributes["form"] == "abs":
        what, x, values = MAGNITUDE, (0, max(abs(x[0]), abs(x[1]))), np.abs(probe)
    signs = np.sign(probe) + zero * (probe == 0)
    together = _together(what, x, values, signs, shift_x, shift_w, zero)
    if together is not None and within(y, _WORD):
        return [Sums(Int8Product(together, w, bias, run), np.zeros(outputs, np.int64))]
    kinds = kind_of(x, (-1, 1)), kind_of((-1, 1), _extent(values))
    largest = int(np.abs(bias).max(initial=0)) + 256 * len(w)
    if None in kinds or largest > _WORD[1]:
        return None
    # The bias lies on the finer grid, which is that of the sums that are not shifted.
    starts = np.where(shift_x == 0, bias, 0), np.where(shift_x == 0, 0, bias)
    return [
        Sums(Int8Product([OperandTransform(kinds[0], what, SIGN, zero)], w, starts[0], run), shift_x),
        Sums(Int8Product([OperandTransform(kinds[1], SIGN, what, zero)], w, starts[1], run), shift_w),
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
    return [
        OperandTransform(kinds[0], what, SIGN, zero, 0, shift_x),
        OperandTransform(kinds[1], SIGN, what, zero, places, shift),
    ]
