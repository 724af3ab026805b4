"""requantize: the only place where precision is lost on purpose.

    y = fit(round(x / 2**shift)),   scale(y) = scale(x) * 2**shift

`fit` saturates or wraps into the word (bits, signed); with `narrow` the least code is left out, so
that a signed word is symmetric. A negative shift multiplies exactly by a power of two.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Rounding
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.overflow import CLAMPS, OVERFLOWS, compared_ends, fit, fitted_bounds, fitted_clamp, range_of, word_limits
from mfsim.ops.traits import Trait

ROUNDINGS = tuple(rounding.value for rounding in Rounding)


def rounded(value: Fraction, rounding: str) -> int:
    """Return `value` rounded to an integer, from the definition of each rule.

    Parameters
    ----------
    value : Fraction
        Any fraction.
    rounding : str
        One of `ROUNDINGS`.

    Returns
    -------
    int
        One of the two integers around `value`, or `value` itself.
    """
    floor = value.numerator // value.denominator
    rest = value - floor
    if rest == 0 or rounding == "floor":
        return floor
    if rounding == "ceil":
        return floor + 1
    if rounding == "toward_zero":
        return floor if value > 0 else floor + 1
    if rest != Fraction(1, 2):
        return floor + (rest > Fraction(1, 2))
    if rounding == "half_even":
        return floor + floor % 2
    if rounding == "half_up":
        return floor + 1
    return floor + 1 if value > 0 else floor


def _shifts(attributes, shape) -> list[int]:
    shift, axis = attributes["shift"], attributes["axis"]
    if any(not -62 <= s <= 62 for s in shift):
        raise FormatError(f"`shift` of op `requantize` must be in -62..62, not {shift}")
    if axis < 0:
        if len(shift) != 1:
            raise FormatError("`shift` of op `requantize` must be one int when `axis` is -1")
        return [shift[0]]
    if axis >= len(shape) or len(shift) != shape[axis]:
        raise FormatError(
            f"`shift` of op `requantize` must have one int for each index of axis {axis} of {tuple(shape)}"
        )
    return list(shift)


def _rounded_bounds(x, attributes) -> tuple[list[tuple[int, int]], int | None]:
    """Return the bounds of the rounded codes before they are fitted, and their axis."""
    shifts = _shifts(attributes, x.shape)
    axis = attributes["axis"]
    if axis < 0:
        los, his, out_axis = x.range.lo, x.range.hi, x.range.axis
        shifts = shifts * len(los)
    else:
        (los, his), out_axis = x.range.along(axis, x.shape[axis]), axis
    ends = (_rounded_shifts(end, shifts, attributes["rounding"]) for end in (los, his))
    return list(zip(*ends, strict=True)), out_axis


def _rounded_shifts(values, shifts, rounding):
    """Return each of `values`, which fit int64, divided by 2**shift and rounded: `rounded` without rational numbers."""
    exact = min(shifts) >= 0  # else a shift to the left may lead past int64
    codes, places = (np.array(part, dtype=np.int64 if exact else object) for part in (values, shifts))
    right = np.maximum(places, 0)
    floor = codes >> right
    rest, half = codes - (floor << right), (1 << right) >> 1
    up = {
        "floor": lambda: 0,
        "ceil": lambda: rest > 0,
        "toward_zero": lambda: (rest > 0) & (codes < 0),
        "half_even": lambda: (rest > half) | ((rest == half) & (half > 0) & (floor & 1 == 1)),
        "half_up": lambda: (rest >= half) & (half > 0),
        "half_away": lambda: (rest > half) | ((rest == half) & (half > 0) & (codes > 0)),
    }[rounding]()
    return ((floor + up) << (right - places)).tolist()


def _check_adder(x, attributes) -> None:
    """Raise `RangeError` where the constant that is added before the shift leads past 63 bits."""
    shift, rounding = max(attributes["shift"]), attributes["rounding"]
    if shift > 0 and rounding in ("half_up", "half_away", "ceil"):
        added = (1 << shift) - 1 if rounding == "ceil" else 1 << (shift - 1)
        Format.of_range(0, max(x.range.high + added, 0), "requantize before its shift")


def _derive(tensors, attributes):
    """Return the clamps that the proved range of the input leaves necessary."""
    bounds, _ = _rounded_bounds(tensors[0], attributes)
    return {"clamp": fitted_clamp(bounds, attributes)}


def _infer(tensors, attributes):
    (x,) = tensors
    if attributes["narrow"] and attributes["overflow"] == "wrap":
        raise FormatError("`narrow` of op `requantize` must be 0 with `overflow` wrap")
    word = Format(attributes["bits"], bool(attributes["signed"]))
    scaled, out_axis = _rounded_bounds(x, attributes)
    bounds = fitted_bounds("requantize", scaled, attributes)
    inner = Format.of_range(min(scaled)[0], max(b for _, b in scaled), "requantize before its word")
    _check_adder(x, attributes)
    axis = attributes["axis"]
    scale = x.scale.moved(attributes["shift"], axis if axis >= 0 else None)
    return Inference((result(x.shape, range_of(bounds, out_axis), scale, "requantize", word),), {"rounded": inner})


def _reference(inputs, attributes):
    (x,) = inputs
    lo, hi = word_limits(attributes)
    shifts = _shifts(attributes, x.shape)
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        shift = shifts[index[attributes["axis"]] if attributes["axis"] >= 0 else 0]
        code = rounded(Fraction(x[index]) / Fraction(2) ** shift, attributes["rounding"])
        out[index] = fit(code, lo, hi, attributes["bits"], bool(attributes["signed"]), attributes["overflow"])
    return [out]


def shift_rows(
    bits: int, low: int, high: int, places: int, rounding: str, n: int
) -> list[tuple[str, tuple[int, ...], int]]:
    """Return what `n` words cost that are shifted and rounded: (primitive, widths, count).

    Parameters
    ----------
    bits, low, high : width of the words and their proved range.
    places : distance to the right, at most 62; to the left if negative.
    rounding : one of `ROUNDINGS`.
    n : number of words.
    """
    if places == 0:
        return []
    if places < 0 or rounding == "floor":
        return [("shift", (bits,), n)]
    if rounding == "half_even":
        floored = max(bits - places, 1)
        return [("shift", (bits,), n), ("or", (bits,), n), ("addsub", (floored, 1), n)]
    # A constant is added first, so the sum that is shifted may be a bit wider. By the sign it is one of two.
    half, all_ones = 1 << (places - 1), (1 << places) - 1
    negative, other = {
        "half_up": (half, half),
        "ceil": (all_ones, all_ones),
        "half_away": (half - 1, half),
        "toward_zero": (all_ones, 0),
    }[rounding]
    ends = [v + (negative if v < 0 else other) for v in (low, high, -1, 0) if low <= v <= high]
    wide = max(bits, Format.of_range(min(ends), max(ends), "a code and the constant that rounds it").bits)
    chosen = n if rounding in ("half_away", "toward_zero") else 0
    return [("select", (places,), chosen), ("addsub", (bits, places), n), ("shift", (wide,), n)]


def _count(node, inputs, outputs):
    (x,), attributes = inputs, node.attributes
    shifts = _shifts(attributes, x.shape)
    n = size(x.shape)
    wide, ends = node.words["rounded"].bits, n * compared_ends(attributes["clamp"])
    moved = [
        shift_rows(x.format.bits, x.range.low, x.range.high, places, attributes["rounding"], n // len(shifts) * many)
        for places, many in Counter(shifts).items()
    ]
    return rows(node, *chain(*moved), ("cmp", (wide,), ends), ("select", (wide,), ends))


OP = Op(
    name="requantize",
    summary="shift by a power of two, round, fit into a word",
    attributes=(
        Attribute("shift", "ints", "right shift (left if negative); one, or one for each index of `axis`"),
        Attribute("axis", "int", "channel axis of `shift`, or -1", -1),
        Attribute("bits", "int", "word length of the result"),
        Attribute("signed", "int", "1 for two's complement", 1, (0, 1)),
        Attribute("narrow", "int", "1 to leave out the least code of a signed word", 0, (0, 1)),
        Attribute("rounding", "str", "rounding rule", "half_even", ROUNDINGS),
        Attribute("overflow", "str", "overflow rule", "saturate", OVERFLOWS),
        Attribute("clamp", "str", "ends of the word that have to be compared", None, CLAMPS, derived=True),
    ),
    inputs=("x",),
    traits=frozenset({Trait.EPILOGUE, Trait.REQUANTIZES}),
    primitives=frozenset({"shift", "or", "addsub", "cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    derive=_derive,
    held={"round_shift.return": "rounded"},
)
