"""Plain kernels of the ops that change a grid: int64 codes through counted primitives only."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import host_differs, host_wrap, mul
from mfsim.kernels.rounding import ROUNDINGS, clamped, round_shift
from mfsim.kernels.shift_add import digits_of, product
from mfsim.kernels.simd.wrapping import bit_and

# requantize: shift, round, fit into a word. Definition: mfsim/ops/grid/requantize.py.


@kernel
def _plain_requantize(x, shifts, inner, rounding, wrap, bits, signed, lo, hi, low, high, y):
    """Fit x of shape (outer, channels, inner), flat; return the number of codes that did not fit."""
    events = 0
    channels = shifts.size
    for i in range(x.size):
        code = round_shift(x[i], shifts[i // inner % channels], rounding)
        fitted = host_wrap(code, bits, signed) if wrap else clamped(code, lo, hi, low, high)
        if host_differs(code, fitted):
            events += 1
        y[i] = fitted
    return events


def run_requantize(inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]) -> int:
    """Fill the output of op `requantize`: requantized codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `shift`, `axis`, `bits`, `signed`, `narrow`, `rounding`, `overflow`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.

    Returns
    -------
    int
        Number of codes that did not fit.
    """
    x, axis, bits = inputs[0], attributes["axis"], attributes["bits"]
    inner = 1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
    signed = attributes["signed"] == 1
    lo = -(1 << (bits - 1)) + attributes["narrow"] if signed else 0
    hi = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    events: int = _plain_requantize(
        x.reshape(-1),
        np.array(attributes["shift"], dtype=np.int64),
        inner,
        ROUNDINGS.index(attributes["rounding"]),
        attributes["overflow"] == "wrap",
        bits,
        signed,
        lo,
        hi,
        attributes["clamp"] in ("low", "both"),
        attributes["clamp"] in ("high", "both"),
        outputs[0].reshape(-1),
    )
    return events


# rescale: multiply by a fixed-point constant, shift, round, saturate. Definition: mfsim/ops/grid/rescale.py.


@kernel
def _plain_rescale(x, multipliers, shifts, inner, rounding, lo, hi, low, high, y):
    """Rescale x of shape (outer, channels, inner), flat; return the number of codes that did not fit."""
    events = 0
    channels = shifts.size
    for i in range(x.size):
        channel = i // inner % channels
        code = x[i]
        if multipliers[channel] != 1:
            code = mul(code, multipliers[channel])
        code = round_shift(code, shifts[channel], rounding)
        fitted = clamped(code, lo, hi, low, high)
        if host_differs(code, fitted):
            events += 1
        y[i] = fitted
    return events


def run_rescale(inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]) -> int:
    """Fill the output of op `rescale`: rescaled codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `exponents`, `numerators`, `denominators`, `axis`, `multiplier_bits`, `bits`,
        `signed`, `narrow`, `rounding`, `multiplier`, `shift`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.

    Returns
    -------
    int
        Number of codes that did not fit.
    """
    x, axis, bits = inputs[0], attributes["axis"], attributes["bits"]
    signed = attributes["signed"] == 1
    events: int = _plain_rescale(
        x.reshape(-1),
        np.array(attributes["multiplier"], dtype=np.int64),
        np.array(attributes["shift"], dtype=np.int64),
        1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64)),
        ROUNDINGS.index(attributes["rounding"]),
        -(1 << (bits - 1)) + attributes["narrow"] if signed else 0,
        (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1,
        attributes["clamp"] in ("low", "both"),
        attributes["clamp"] in ("high", "both"),
        outputs[0].reshape(-1),
    )
    return events


# accumulator: requantize without a shift. Definition: mfsim/ops/grid/accumulator.py.


def run_accumulator(inputs, attributes, outputs):
    """Fill the output of op `accumulator`: sums fitted into the accumulator word.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `bits`, `signed`, `overflow`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.

    Returns
    -------
    int
        Number of codes that did not fit.
    """
    unshifted = {"shift": (0,), "axis": -1, "rounding": "floor", "narrow": 0}
    return run_requantize(inputs, attributes | unshifted, outputs)


# shift: the codes as they are. Definition: mfsim/ops/grid/shift.py.


def run_shift(inputs, attributes, outputs):
    """Fill the output of op `shift`: the codes as they are, on a relabelled grid.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `exponents`, `axis`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    outputs[0][...] = inputs[0]


# gain: the codes as they are. Definition: mfsim/ops/grid/gain.py.


def run_gain(inputs, attributes, outputs):
    """Fill the output of op `gain`: the codes as they are, on a relabelled grid.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `numerators`, `denominators`, `axis`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    outputs[0][...] = inputs[0]


# csd_gain: multiply by constants as sums of shifted copies. Definition: mfsim/ops/grid/csd_gain.py.


@kernel
def _plain_csd_gain(x, places, signs, counts, inner, y):
    """Fill y for x of shape (outer, channels, inner), flat; one constant, or one for each channel."""
    for i in range(x.size):
        c = i // inner % counts.size
        y[i] = product(x[i], places[c], signs[c], counts[c]) if counts[c] > 0 else 0


def run_csd_gain(inputs, attributes, outputs):
    """Fill the output of op `csd_gain`: products with canonical-signed-digit constants.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...]; constant factors, one, or one for each channel.
    attributes : mapping
        Complete attributes: `digits`, `axis`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, c = inputs
    axis = attributes["axis"]
    inner = 1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
    _plain_csd_gain(x.reshape(-1), *digits_of(c), inner, outputs[0].reshape(-1))


# quantize and dequantize: between real values and codes. Definition: mfsim/ir/fixed_point.py.
#
# A double is mantissa * 2**exponent with an integer mantissa of at most 53 bits, so rounding it to a
# grid is the rounding shift of requantize. These loops stand at the border of the integer program:
# taking a double apart is no operation of the device.

MANTISSA_BITS = 53

FARTHEST_LEFT = 63 - MANTISSA_BITS

FARTHEST_RIGHT = 62


@kernel
def _fitted(mantissa, places, rounding, wrap, bits, signed, lo, hi):
    """Return mantissa / 2**places, rounded and fitted into the word, for any places.

    Right of 54 places only the sign of the mantissa matters. A result left of int64 is past every
    word, and its low 64 bits are all that wrapping needs.
    """
    if places >= -FARTHEST_LEFT:
        code = round_shift(mantissa, min(places, FARTHEST_RIGHT), rounding)
        return host_wrap(code, bits, signed) if wrap else clamped(code, lo, hi, True, True)
    if wrap:
        return host_wrap(mantissa << -places if places > -64 else 0, bits, signed)
    return hi if mantissa > 0 else lo


@kernel
def quantize(values, exponents, inner, rounding, wrap, bits, signed, lo, hi, codes):
    """Fill flat `codes` from flat `values` of shape (outer, channels, inner).

    Return the index of the first value that is not finite, or -1.

    Parameters
    ----------
    values : float array, shape (outer * channels * inner,)
        Real values.
    exponents : int64 array, shape (channels,)
        Code c of a channel stands for c * 2**exponent.
    inner : int
        Values from one channel to the next, at least 1.
    rounding : int
        Index into `ROUNDINGS`, 0 to 5.
    wrap : bool
        Whether codes wrap; else they saturate to lo..hi.
    bits : int
        Width of the word, 1 to 63.
    signed : bool
        Whether it is in two's complement.
    lo, hi : int64
        Ends of the word.
    codes : int64 array, flat
        As long as `values`; filled up to the index that is returned.

    Returns
    -------
    int
        0 or more where a value is infinite or not a number, else -1.
    """
    channels = exponents.size
    for i in range(values.size):
        value = np.float64(values[i])
        if not math.isfinite(value):
            return i
        fraction, exponent = math.frexp(value)
        mantissa = int(math.ldexp(fraction, MANTISSA_BITS))
        places = exponents[i // inner % channels] - exponent + MANTISSA_BITS if mantissa != 0 else 0
        codes[i] = _fitted(mantissa, places, rounding, wrap, bits, signed, lo, hi)
    return -1


class Quick(NamedTuple):
    """Words and scales for which values are scaled and rounded as floats of one type, exactly.

    Attributes
    ----------
    bits : the most bits of a word.
    exponent : the greatest magnitude of an exponent.
    least, greatest : magnitudes whose quotients by 2**-exponent ... 2**exponent are exact and normal.
    integer : type that holds such a word.
    """

    bits: int
    exponent: int
    least: float
    greatest: float
    integer: type


QUICK = {
    np.float32: Quick(24, 50, 2.0**-70, 2.0**70, np.int32),
    np.float64: Quick(52, 400, 2.0**-500, 2.0**500, np.int64),
}
"""By the type of the floats, the quickest first."""


@kernel
def _rounded(scaled, rounding):
    """Return a float rounded to an integer by the rule of that number."""
    if rounding == 0:
        return np.rint(scaled)
    if rounding == 1:
        floor = np.floor(scaled)
        return floor + (scaled - floor >= 0.5)
    if rounding == 2:
        size = abs(scaled)
        floor = np.floor(size)
        return math.copysign(floor + (size - floor >= 0.5), scaled)
    if rounding == 3:
        return np.floor(scaled)
    if rounding == 4:
        return np.ceil(scaled)
    return np.trunc(scaled)


@functools.cache
def quick(rounding, word):
    """Return the kernel for words that saturate, in floats of type `word`; it returns whether it could do all values.

    `rounding` is the number of a rule. The kernel takes values [rows, n] of channel r % channels, and codes of any integer
    type that holds lo..hi. It says no where a value is not finite or its magnitude is out of bounds.

    Parameters
    ----------
    rounding : int
        Index into `ROUNDINGS`, 0 to 5.
    word : numpy float type
        Key of `QUICK`.

    Returns
    -------
    callable
        (values, exponents, lo, hi, codes) to whether all codes are exact.
    """
    _, _, smallest, largest, integer = QUICK[word]

    @kernel
    def quantize_quickly(values, exponents, lo, hi, codes):
        low, high, least, greatest = word(lo), word(hi), word(smallest), word(largest)
        good = np.int32(1)
        for r in range(values.shape[0]):
            step = word(math.ldexp(1.0, -exponents[r % exponents.size]))
            row, out = values[r], codes[r]
            for i in range(row.size):
                value = word(row[i])
                size = abs(value)
                good = bit_and(good, np.int32(size == word(0.0) or (size >= least and size <= greatest)))
                code = word(_rounded(value * step, rounding))
                code = low if code < low else code
                code = high if code > high else code
                out[i] = integer(code)
        return good == 1

    return quantize_quickly


@kernel
def dequantize(codes, exponents, inner, values):
    """Fill flat `values` from flat `codes` of shape (outer, channels, inner).

    Parameters
    ----------
    codes : int64 array, shape (outer * channels * inner,)
        Codes.
    exponents : int64 array, shape (channels,)
        Code c of a channel stands for c * 2**exponent.
    inner : int
        Codes from one channel to the next, at least 1.
    values : float array, flat
        As long as `codes`; filled.
    """
    channels = exponents.size
    for i in range(codes.size):
        values[i] = math.ldexp(np.float64(codes[i]), exponents[i // inner % channels])
