"""`Statistics`: what calibration keeps of the values at one place, enough for a scale of any word by any method.

Scales are chosen from these numbers alone, never from the values: on calibration, and whenever the
words of an exported file are changed later, so that both choose alike. For a word whose largest code
is 2**m - 1 (m is `bits`, less one where the word is signed) the candidates are exponents E, E - 1, ...
E - 4, where E is the least at which the largest magnitude fits; `errors[m - 1, k]` is the mean squared
error at E - k. How many values round to 0, and with them lose their sign, depends on the exponent
alone: `lost` counts down from E of the word with m = 1.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.quant.scales import FINER, PERCENTILE, Partner, fitting_exponent, squared_error

MOST = 32
"""Bits of the largest word, without its sign."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the values at one place.

    Attributes
    ----------
    low, high : the least and the greatest value seen.
    percentile : the magnitude that 99.9 % of the kept values do not pass.
    power : mean square of the kept values.
    errors : float64 [32, 5], mean squared errors.
    lost, lost_below : float64 [36 or so], the fraction of values that are not 0 and round to 0, and of those below 0.
    """

    low: float
    high: float
    percentile: float
    power: float
    errors: np.ndarray
    lost: np.ndarray
    lost_below: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, low: float, high: float) -> Statistics:
        """Return the statistics of kept values.

        Parameters
        ----------
        values : array, any shape
            Those that were kept; finite, at least one.
        low, high : float
            The least and greatest of all values, kept or not.

        Returns
        -------
        Statistics
        """
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        errors = np.zeros((MOST, FINER + 1))
        lost = lost_below = np.zeros(0)
        largest = max(-low, high, 0.0)
        if largest > 0:
            tops = [_fitting(largest, bits) for bits in range(1, MOST + 1)]
            for bits, top in enumerate(tops, 1):
                hi = (1 << bits) - 1
                errors[bits - 1] = [squared_error(values, top - k, -hi - 1, hi) for k in range(FINER + 1)]
            kept = values[np.abs(values) < math.ldexp(1.0, tops[0])]  # nothing else can round to 0
            kept = kept[kept != 0]
            rounded = (np.rint(np.ldexp(kept, -e)) == 0 for e in range(tops[0], tops[-1] - FINER - 1, -1))
            counts = np.array([(np.count_nonzero(zero), np.count_nonzero(kept[zero] < 0)) for zero in rounded])
            lost, lost_below = (counts / len(values)).T
        percentile = float(np.percentile(np.abs(values), PERCENTILE))
        return cls(low, high, percentile, float(np.mean(values**2)), errors, lost, lost_below)

    @property
    def signed(self) -> bool:
        """Whether there were negative values."""
        return self.low < 0

    @property
    def largest(self) -> float:
        """The largest magnitude seen."""
        return max(-self.low, self.high, 0.0)

    def exponent(self, bits: int, signed: bool, method: str = "mse", partner: Partner | None = None) -> int | None:
        """Return the exponent for a word of `bits`, or None where all values were 0.

        Parameters
        ----------
        bits : int in 2..32
        signed : bool
            An unsigned word for values below 0 is chosen by what it makes of the others' magnitudes.
        method : {"mse", "max", "percentile"}
        partner : Partner, optional
            The other operand, where the values meet it in an MF product; `mse` takes it into account.
        """
        magnitude = bits - int(signed)
        largest = self.percentile or self.largest if method == "percentile" else self.largest
        if largest <= 0:
            return None
        top = _fitting(largest, magnitude)
        if method != "mse":
            return top
        errors = self.errors[magnitude - 1].copy()
        if partner is not None:
            start = _fitting(self.largest, 1) - top
            wrong = self.lost if partner.sign_zero == 0 else 4 * self.lost_below
            errors += partner.power * wrong[start : start + FINER + 1]
        return top - int(np.argmin(errors))

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as `json.dumps` takes them, exactly."""
        numbers = {name: getattr(self, name) for name in ("low", "high", "percentile", "power")}
        return numbers | {name: _packed(getattr(self, name)) for name in ("errors", "lost", "lost_below")}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Statistics:
        """Return the statistics that `to_dict` wrote.

        Parameters
        ----------
        content : mapping
            The keys are the fields; arrays are base64 of little-endian float64.

        Returns
        -------
        Statistics

        Raises
        ------
        KeyError, TypeError, ValueError
            If `content` is anything else.
        """
        numbers = [float(content[name]) for name in ("low", "high", "percentile", "power")]
        errors, lost, lost_below = (_unpacked(content[name]) for name in ("errors", "lost", "lost_below"))
        low, high, percentile, power = numbers
        return cls(low, high, percentile, power, errors.reshape(MOST, FINER + 1), lost, lost_below)


def _fitting(largest: float, bits: int) -> int:
    exponent = fitting_exponent(largest, (1 << bits) - 1)
    assert exponent is not None, "the largest magnitude is not 0"
    return exponent


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
