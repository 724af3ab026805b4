"""Between real values and codes: `quantize`, `dequantize`, `requantize`; exact, for any word.

A code stands for `code * 2**exponent`. Nothing here rounds but the stated rule: scaling is by powers
of two, and a real value is rounded as the dyadic rational that it is. `requantize` runs the kernel
of the op of that name, and `quantize` its rounding shift, so no rule is implemented twice.

>>> import numpy as np
>>> from mfsim.ir.formats import Format, Scale
>>> quantize(np.array([-0.3125, 0.3125, 9.0]), Scale.of(-3), Format(4))
array([-2,  2,  7])
>>> dequantize(np.array([-2, 7]), Scale.of(-3))
array([-0.25 ,  0.875])
>>> requantize(np.array([-5, 5, 6]), Scale.of(-3), Scale.of(-2), Format(4))
array([-2,  2,  3])
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import DataError, FormatError, ShapeError
from mfsim.ir.formats import Format, Overflow, Range, Rounding, Scale
from mfsim.ir.program import Tensor, int64_codes
from mfsim.kernels.rounding import ROUNDINGS
from mfsim.ops.grid.kernels import QUICK, quick, run_requantize
from mfsim.ops.grid.kernels import dequantize as dequantize_kernel
from mfsim.ops.grid.kernels import quantize as quantize_kernel
from mfsim.ops.grid.requantize import OP as REQUANTIZE

EXACT_INTEGER = 2**53
"""Every integer of at most this magnitude is a double."""

LEAST_EXPONENT, GREATEST_EXPONENT = -1022, 960
"""With exponents in this range every code but 0 has a normal double as its value."""


def quantize(
    values: np.ndarray,
    scale: Scale,
    format: Format,
    *,
    rounding: Rounding | str = Rounding.HALF_EVEN,
    overflow: Overflow | str = Overflow.SATURATE,
    narrow: bool = False,
) -> np.ndarray:
    """Return the codes of real `values`: value / 2**exponent, rounded once and fitted into `format`.

    Parameters
    ----------
    values : float16, float32 or float64 array of any shape
        Finite, of any magnitude, subnormal ones too. Integers of at most 2**53 are taken as well.
    scale : Scale
        The grid; one exponent, or one for each index of its axis of `values`.
    format : Format
        The word of the codes, 1 to 63 bits.
    rounding, overflow : Rounding, Overflow, or their names
        The rules; their docstrings show each on negative halves.
    narrow : bool
        Leave out the least code of a signed word, so that it is symmetric. Not with `wrap`.

    Returns
    -------
    int64 array of the shape of `values`
        Exact: as if computed in rational numbers. With `narrow` not below `format.lo + 1`.

    Raises
    ------
    DataError
        If a value is NaN or infinite, or `values` are no real numbers.
    FormatError
        If `narrow` meets `wrap`, or `scale` is no power of two.
    ShapeError
        If the axis of `scale` does not suit `values`.
    """
    rounding, overflow = Rounding.parse(rounding), Overflow.parse(overflow)
    _check_power_of_two("scale", scale)
    if narrow and overflow is Overflow.WRAP:
        raise FormatError("`narrow` must be False with `overflow` wrap")
    reals = _reals(values)
    exponents, inner = _exponents(scale, reals.shape, "values")
    codes = np.empty(reals.shape, dtype=np.int64)
    lo = format.lo + int(narrow and format.signed)
    rule = ROUNDINGS.index(rounding.value)
    if overflow is Overflow.SATURATE and _quickly(reals, exponents, inner, rule, (lo, format.hi), codes):
        return codes
    bad = quantize_kernel(
        reals.reshape(-1),
        exponents,
        inner,
        rule,
        overflow is Overflow.WRAP,
        format.bits,
        format.signed,
        lo,
        format.hi,
        codes.reshape(-1),
    )
    if bad >= 0:
        at = tuple(int(i) for i in np.unravel_index(bad, reals.shape))
        raise DataError(f"`values` must be finite, but the one at {at} is {reals[at]}")
    return codes


def dequantize(codes: np.ndarray, scale: Scale) -> np.ndarray:
    """Return the real values code * scale as float64.

    For powers of two exact for codes of at most 53 significant bits, that is, for every |code| <= 2**53; the nearest
    double, ties to the even one, for longer ones. A factor of the scale is one more rounding.

    Parameters
    ----------
    codes : integer array of any shape
        Any codes that fit int64.
    scale : Scale
        The grid; exponents in -1022..960, so that no value overflows or becomes subnormal.

    Returns
    -------
    float64 array of the shape of `codes`

    Raises
    ------
    FormatError
        If a code is no integer, or an exponent is out of range.
    ShapeError
        If the axis of `scale` does not suit `codes`.
    """
    integers = np.asarray(int64_codes(codes, "`codes`"), order="C")
    exponents, inner = _exponents(scale, integers.shape, "codes")
    least, greatest = min(scale.exponents), max(scale.exponents)
    if least < LEAST_EXPONENT or greatest > GREATEST_EXPONENT:
        raise FormatError(
            f"`scale` must have exponents in {LEAST_EXPONENT}..{GREATEST_EXPONENT} for values in float64, not {scale}"
        )
    values = np.empty(integers.shape, dtype=np.float64)
    dequantize_kernel(integers.reshape(-1), exponents, inner, values.reshape(-1))
    if scale.factors:
        factors = np.array([float(f) for f in scale.factors])
        axis = integers.ndim - 1 if scale.axis is None else scale.axis
        values *= factors.reshape(-1, *[1] * (integers.ndim - 1 - axis))
    return values


def requantize(
    codes: np.ndarray,
    scale_from: Scale,
    scale_to: Scale,
    format: Format,
    *,
    rounding: Rounding | str = Rounding.HALF_EVEN,
    overflow: Overflow | str = Overflow.SATURATE,
    narrow: bool = False,
) -> np.ndarray:
    """Return codes on `scale_to` for `codes` on `scale_from`: shifted, rounded and fitted into `format`.

    Parameters
    ----------
    codes : integer array of any shape
        0..2**63 - 1, or within -2**62..2**62 - 1 where one is negative.
    scale_from, scale_to : Scale
        The grids, at most 62 bits apart; if both have an axis, it is the same one.
    format, rounding, overflow, narrow
        As for `quantize`.

    Returns
    -------
    int64 array of the shape of `codes`, exact

    Raises
    ------
    FormatError
        If the grids are further apart, vary along different axes or are no powers of two, or `narrow` meets `wrap`.
    RangeError
        If the codes, or the shifted codes before they are fitted, need more than 63 bits.
    ShapeError
        If the axis of a scale does not suit `codes`.
    """
    integers = np.asarray(int64_codes(codes, "`codes`"), order="C")
    axes = [scale.axis for scale in (scale_from, scale_to) if scale.axis is not None]
    if len(set(axes)) > 1:
        raise FormatError(
            f"`scale_to` must vary along axis {scale_from.axis} like `scale_from`, not axis {scale_to.axis}"
        )
    for name, scale in (("scale_from", scale_from), ("scale_to", scale_to)):
        _check_power_of_two(name, scale)
        _exponents(scale, integers.shape, "codes")
    count = integers.shape[axes[0]] if axes else 1
    attributes = {
        "shift": tuple(to - of for to, of in zip(scale_to.along(count), scale_from.along(count), strict=True)),
        "axis": axes[0] if axes else -1,
        "bits": format.bits,
        "signed": int(format.signed),
        "narrow": int(narrow),
        "rounding": Rounding.parse(rounding).value,
        "overflow": Overflow.parse(overflow).value,
    }
    lo, hi = (int(integers.min()), int(integers.max())) if integers.size else (0, 0)
    operand = Tensor("codes", integers.shape, Format.of_range(lo, hi, "the widest code"), scale_from, Range.of(lo, hi))
    op = REQUANTIZE
    complete = op.derived([operand], attributes)
    op.infer([operand], complete)
    fitted = np.empty_like(integers)
    run_requantize([integers], complete, [fitted])
    return fitted


def round_floats(values: np.ndarray, rounding: Rounding | str) -> np.ndarray:
    """Return real values rounded to integers, in their own type: what a float file computes before it clips.

    Parameters
    ----------
    values : floating-point array, any shape
        Values in units of the step.
    rounding : Rounding or str
        Rounding rule.

    Returns
    -------
    array of the type and shape of `values`
        Integers.

    Raises
    ------
    FormatError
        If there is no such rounding.
    """
    rule = Rounding.parse(rounding)
    if rule in (Rounding.HALF_UP, Rounding.HALF_AWAY):
        sign = np.where(values < 0, -1, 1).astype(values.dtype) if rule is Rounding.HALF_AWAY else values.dtype.type(1)
        floor = np.floor(values * sign)
        return np.asarray(sign * (floor + (values * sign - floor >= 0.5)))
    plain = {Rounding.HALF_EVEN: np.rint, Rounding.FLOOR: np.floor, Rounding.CEIL: np.ceil}
    return np.asarray(plain.get(rule, np.trunc)(values))


def _check_power_of_two(name: str, scale: Scale) -> None:
    if scale.factors:
        raise FormatError(f"`{name}` must be a power of two, not {scale}")


def quantize_into(
    codes: np.ndarray, values: np.ndarray, scale: Scale, limits: tuple[int, int], rounding: Rounding | str
) -> bool:
    """Quantize real values into an array of any integer type, saturated as `quantize` does.

    If the quick way does not apply, `codes` holds anything, and `quantize` is to do it, or to say what is wrong.

    Parameters
    ----------
    codes : integer array in C order, shape of `values`
        Filled with codes; its type holds the limits.
    values : array of real
        Values to quantize.
    scale : Scale
        Powers of two.
    limits : (int, int)
        Least and greatest code.
    rounding : Rounding or str
        Rounding rule.

    Returns
    -------
    bool
        Whether `codes` has been filled.

    Raises
    ------
    FormatError
        If a step is no power of two, or there is no such rounding.
    """
    _check_power_of_two("scale", scale)
    reals = _reals(values)
    exponents, inner = _exponents(scale, reals.shape, "values")
    return _quickly(reals, exponents, inner, ROUNDINGS.index(Rounding.parse(rounding).value), limits, codes)


def _quickly(
    reals: np.ndarray, exponents: np.ndarray, inner: int, rule: int, limits: tuple[int, int], codes: np.ndarray
) -> bool:
    """Fill `codes` by floats if that is exact; return whether it is."""
    bits = max(limit.bit_length() for limit in limits)
    farthest = int(np.abs(exponents).max())
    shape = (-1, inner) if len(exponents) > 1 else (1, -1)
    for word, exact in QUICK.items():
        if reals.dtype.itemsize <= np.dtype(word).itemsize and bits <= exact.bits and farthest <= exact.exponent:
            return not reals.size or bool(
                quick(rule, word)(reals.reshape(shape), exponents, *limits, codes.reshape(shape))
            )
    return False


def _reals(values: object) -> np.ndarray:
    """Return `values` as a C-contiguous float32 or float64 array of the same values."""
    array = np.asarray(values)
    if array.dtype.kind in "biu":
        if array.size and not -EXACT_INTEGER <= int(array.min()) <= int(array.max()) <= EXACT_INTEGER:
            raise DataError("integer `values` must be within -2**53..2**53; `requantize` takes longer codes")
    elif array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise DataError(f"`values` must be float16, float32 or float64, not {array.dtype}")
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return np.asarray(array, dtype=np.float32 if small else np.float64, order="C")


def _exponents(scale: Scale, shape: tuple[int, ...], what: str) -> tuple[np.ndarray, int]:
    """Return the exponents as an array, and how many entries in a row share one."""
    if scale.axis is None:
        return np.array(scale.exponents, dtype=np.int64), 1
    if not 0 <= scale.axis < len(shape) or shape[scale.axis] != len(scale.exponents):
        raise ShapeError(
            f"`{what}` of shape {shape} must have {len(scale.exponents)} entries along axis {scale.axis}, one for each exponent"
        )
    return np.array(scale.exponents, dtype=np.int64), int(np.prod(shape[scale.axis + 1 :], dtype=np.int64))
