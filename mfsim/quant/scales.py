"""Choose power-of-two scales from samples: the exponent e of scale 2**e for a word.

    max         the least e at which the largest magnitude still fits
    percentile  the least e at which 99.9 % of the values fit
    mse         of `max` and up to four finer ones, the one with the least mean squared error

Behind an MF product the error of an operand has two parts: its own, and that of its sign, by which the
other operand is multiplied. A small operand that is rounded to 0 loses the whole of the other one,
so `mse` weighs wrong signs with the other operand's mean square, and chooses finer scales than it
would for a dense product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

PERCENTILE = 99.9
FINER = 4
"""How many octaves below the largest value `mse` looks."""


def fitting_exponent(magnitude: float, hi: int) -> int | None:
    """Return the least e with hi * 2**e >= `magnitude`, or None for magnitude 0.

    Parameters
    ----------
    magnitude : float, at least 0
        What must fit.
    hi : int, at least 1
        The greatest code.

    Returns
    -------
    int or None
    """
    if magnitude <= 0:
        return None
    exponent = math.ceil(math.log2(magnitude / hi))
    while math.ldexp(hi, exponent) < magnitude:
        exponent += 1
    while math.ldexp(hi, exponent - 1) >= magnitude:
        exponent -= 1
    return exponent


@dataclass(frozen=True)
class Partner:
    """The other operand of an MF product: its mean square, and the sign of 0."""

    power: float
    sign_zero: int

    def signs(self, values: np.ndarray) -> np.ndarray:
        """Return the signs of `values` as the product takes them.

        Parameters
        ----------
        values : float array, any shape

        Returns
        -------
        float array, of the same shape
            -1, 0 or 1; `sign_zero` for 0.
        """
        signs: np.ndarray = np.sign(values) + self.sign_zero * (values == 0)
        return signs


def squared_error(
    values: np.ndarray,
    exponent: int,
    lo: int,
    hi: int,
    partner: Partner | None = None,
    room: tuple[np.ndarray, np.ndarray] | None = None,
) -> float:
    """Return the mean squared error of `values` rounded half-even and saturated to lo..hi codes of 2**exponent.

    With a `partner` it is the error of an MF term, sign errors included.

    Parameters
    ----------
    values : float64 array, shape [n]
        At least one, finite.
    exponent : int
        Of the scale.
    lo, hi : int
        The least and greatest code.
    partner : Partner, optional
        The other operand, where the values meet it in an MF product.
    room : tuple of two float64 arrays, shape [n], optional
        To work in; who asks several times saves making them.

    Returns
    -------
    float
        In squared units of `values`; at least 0.
    """
    scale = math.ldexp(1.0, exponent)
    codes, rest = room or (np.empty_like(values), np.empty_like(values))
    np.rint(np.divide(values, scale, out=codes), out=codes)
    np.minimum(np.maximum(codes, lo, out=codes), hi, out=codes)
    np.subtract(np.multiply(codes, scale, out=rest), values, out=rest)
    error = float(np.mean(np.multiply(rest, rest, out=rest)))
    if partner is not None:
        error += partner.power * float(np.mean((partner.signs(codes) - partner.signs(values)) ** 2))
    return error


def choose_exponent(
    values: np.ndarray,
    lo: int,
    hi: int,
    method: str = "mse",
    largest: float | None = None,
    partner: Partner | None = None,
) -> int | None:
    """Return the exponent for `values` in the word lo..hi, or None where all values are 0.

    Parameters
    ----------
    values : array, finite
    lo, hi : ints
        The least and greatest code.
    method : {"mse", "max", "percentile"}
    largest : float, optional
        The largest magnitude, where `values` is only a part of what was seen.
    partner : Partner, optional
        The other operand, where the values meet it in an MF product.
    """
    values = np.asarray(values, dtype=np.float64).reshape(-1)
    magnitudes = np.abs(values)
    largest = float(magnitudes.max(initial=0.0)) if largest is None else largest
    if method == "percentile" and magnitudes.size:
        largest = float(np.percentile(magnitudes, PERCENTILE)) or largest
    exponent = fitting_exponent(largest, hi)
    if exponent is None or method != "mse":
        return exponent
    room = np.empty_like(values), np.empty_like(values)
    return min(range(exponent, exponent - FINER - 1, -1), key=lambda e: squared_error(values, e, lo, hi, partner, room))


def power_exponents(weight: np.ndarray, bits: int, per_channel: bool) -> np.ndarray:
    """Return the exponents of the scales of power-of-two weights in a signed word.

    The greatest magnitude, rounded in the log domain, becomes the code 2**(bits - 2). No channel's exponent
    lies more than `bits` - 1 below that of the whole tensor.

    Parameters
    ----------
    weight : float array, shape [O, ...]
    bits : int in 2..32
        Of the word.
    per_channel : bool
        Whether each output has a scale of its own.

    Returns
    -------
    int64 array, shape () or [O]
        The second if `per_channel`.
    """
    magnitudes = np.abs(np.asarray(weight, dtype=np.float64)).reshape(len(weight), -1).max(axis=1)
    mantissa, exponent = np.frexp(magnitudes)
    chosen = np.asarray(exponent - (mantissa < 0.5**0.5), dtype=np.int64) - (bits - 2)
    present = magnitudes > 0
    whole = int(chosen[present].max()) if present.any() else -(bits - 1)
    return np.where(present, np.maximum(chosen, whole - (bits - 1)), whole) if per_channel else np.array(whole)


def weight_exponents(
    weight: np.ndarray, bits: int, per_channel: bool, method: str = "mse", partner: Partner | None = None
) -> np.ndarray:
    """Return the exponents of the scales of signed narrow weights.

    A channel of nothing but tiny or zero weights would get a scale so fine that every accumulator
    it meets grows; no channel's exponent lies more than `bits` - 1 below that of the whole tensor.

    Parameters
    ----------
    weight : float array, shape [O, ...]
    bits : int in 2..32
        Of the word; codes are within +-(2**(bits - 1) - 1).
    per_channel : bool
        Whether each output has a scale of its own.
    method : {"mse", "max", "percentile"}
    partner : Partner, optional
        The other operand of an MF product.

    Returns
    -------
    int64 array, shape () or [O]
        The second if `per_channel`.
    """
    weight = np.asarray(weight, dtype=np.float64)
    hi = (1 << (bits - 1)) - 1
    whole = choose_exponent(weight, -hi, hi, method, partner=partner)
    if whole is None:
        whole = -(bits - 1)
    if not per_channel:
        return np.array(whole)
    floor = whole - (bits - 1)
    chosen = [choose_exponent(channel, -hi, hi, method, partner=partner) for channel in weight.reshape(len(weight), -1)]
    return np.array([whole if e is None else max(e, floor) for e in chosen])
