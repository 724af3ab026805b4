"""Rounded quotients of a row of codes by one number, in float64 and exact.

    round(c f),  f = unit / D,  unit (2**power // D)  or  unit 2**-k;  `round` is to the nearest, halves away from 0

for a power of two `unit`, a positive integer D, and k thresholds that D reaches. Exact as long as the caller proves:

- `RECIPROCAL`, `SHIFT`: |c| f is a multiple of a power of two 2**-p, p > 0, with 2**p |c| f + 2**(p - 1) < 2**53. Then the
  product and its sum with 1/2 are no longer than the 53 bits of a float64, and neither is rounded.
- `DIVISION`: the result is n // m with n = 2 |c| u + D v and m = 2 D v, where u / v = `unit` and u or v is 1. Take
  (n + 1/2) / m = |c| f + 1/2 + 1/(2 m) instead, which has the same floor and is at least 1/(2 m) away from any
  integer. With f, the product, the constant and the sum rounded, it is off by at most 2**-51 of itself, which is less than
  1/(2 m) where n + 1/2 < 2**50; n < 2**49 is asked for. A product that is not rounded (`multiply_add`) is off by less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.rows.search import reached, search_table
from mfsim.kernels.simd.vector import emitted

DIVISION, RECIPROCAL, SHIFT = range(3)
"""The three forms of f."""

BITS = {DIVISION: 49, RECIPROCAL: 53, SHIFT: 53}
"""For each form the bits that bound its numerator: n, 2**p |c| f + 2**(p - 1)."""


@emitted
def with_sign(typing, magnitude, value):
    """Return `magnitude`, at least 0, with the sign of `value`, both float64.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    magnitude : float64
        At least 0.
    value : float64
        Its sign is taken, that of -0.0 too.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, float64.
    """

    def generate(context, builder, signature, arguments):
        real = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.copysign", [real], ir.FunctionType(real, [real] * 2))
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64), generate


@emitted
def multiply_add(typing, left, right, added):
    """Return left * right + added, all float64, rounded once or twice, whichever the processor is quicker with.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    left, right, added : float64
        Factors and addend.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, float64.
    """

    def generate(context, builder, signature, arguments):
        real = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.fmuladd", [real], ir.FunctionType(real, [real] * 3))
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


class Quotient(NamedTuple):
    """How a row is divided.

    Attributes
    ----------
    form : one of the three.
    unit : a power of two, float64.
    power : of two that is divided by D, for `RECIPROCAL`.
    thresholds : a `search_table` for `SHIFT`.
    """

    form: int
    unit: float
    power: int = 0
    thresholds: np.ndarray = search_table(())


@kernel
def factor_of(divisor, quotient):
    """Return f for D, int64, and what is added to the magnitude of each product before its fraction is dropped.

    Parameters
    ----------
    divisor : int64
        D, at least 1; for `RECIPROCAL` at most 2**power, else f is 0.
    quotient : Quotient
        How the row is divided.

    Returns
    -------
    tuple of float64
        (f, the constant: 0.5, or a little more for `DIVISION`).
    """
    unit = quotient.unit
    if quotient.form == DIVISION:
        return unit / divisor, 0.5 + 0.25 * min(unit, 1.0) / divisor
    if quotient.form == RECIPROCAL:
        return unit * np.float64((1 << quotient.power) // divisor), 0.5
    return unit / np.float64(1 << reached(divisor, quotient.thresholds)), 0.5
