"""`Grid`: constant values that lie exactly on codes of a scale, and the exact way from reals to codes.

In the dialect the scale is a power of two; `factors` are for third-party files.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Scale


@dataclass(frozen=True, eq=False)
class Grid:
    """Constant values codes * factors * 2**exponents.

    Attributes
    ----------
    codes : int64 array.
    exponents : int64 array of the shape of `codes`.
    format : the word that the quantizer gave them.
    factors : float64 array of the shape of `codes`, 1 <= factor < 2; None where all are 1.
    constant : "learned", or "fixed" by the architecture.
    """

    codes: np.ndarray
    exponents: np.ndarray
    format: Format
    factors: np.ndarray | None = None
    constant: str = "learned"

    @property
    def scale(self) -> Scale:
        """The scale, per tensor or along one axis; a `FormatError` if it varies along two."""
        return scale_of(self.exponents, self.factors)

    def at(self, exponents: np.ndarray | int) -> np.ndarray:
        """Return the codes of the same values on other exponents (both broadcast), exactly.

        Parameters
        ----------
        exponents : int or integer array
            Exponents of the wanted grid.

        Returns
        -------
        int64 array, the broadcast shape
            Codes.

        Raises
        ------
        FormatError
            With the first value that lies between two codes of the wanted grid, or if the scale is no power
            of two.
        RangeError
            If a code needs more than 63 bits.
        """
        if self.factors is not None:
            raise FormatError("the scale must be a power of two")
        shape = np.broadcast_shapes(self.codes.shape, np.shape(exponents))
        exponents = np.broadcast_to(np.asarray(exponents, dtype=np.int64), shape)
        places = self.exponents - exponents
        up, down = np.maximum(places, 0), np.maximum(-places, 0)
        largest = max(map(abs, _ends(self.codes))).bit_length() + int(up.max(initial=0))
        kind = np.int64 if largest < 63 and down.max(initial=0) < 63 else object
        up, down = up.astype(kind), down.astype(kind)
        whole = self.codes.astype(kind) << up
        kept = whole >> down
        wrong = kept << down != whole
        if wrong.any():
            _refuse(np.argwhere(wrong), np.broadcast_to(self.values(), shape), exponents)
        return int64(kept)

    def values(self) -> np.ndarray:
        """Return the real values, float64."""
        scaled = np.ldexp(self.codes.astype(np.float64), self.exponents)
        return np.asarray(scaled if self.factors is None else scaled * self.factors)

    def exact_values(self) -> np.ndarray:
        """Return the real values as an object array of rational numbers."""
        steps = [Fraction(2) ** int(e) for e in self.exponents.reshape(-1)]
        if self.factors is not None:
            steps = [step * Fraction(f) for step, f in zip(steps, self.factors.reshape(-1).tolist(), strict=True)]
        values = np.empty(self.codes.size, dtype=object)
        values[:] = [int(code) * step for code, step in zip(self.codes.reshape(-1), steps, strict=True)]
        return values.reshape(self.codes.shape)

    def transposed(self) -> Grid:
        """Return the values with their axes in reverse order."""
        factors = None if self.factors is None else self.factors.T
        return Grid(np.ascontiguousarray(self.codes.T), self.exponents.T, self.format, factors, self.constant)


def exact_grid(values: np.ndarray, exponents: np.ndarray | int) -> Grid:
    """Return real values as a `Grid` on exponents (both broadcast).

    Parameters
    ----------
    values : array of real
        Values.
    exponents : int or integer array
        Exponents of the grid.

    Returns
    -------
    Grid
        Codes in the smallest word that holds all of them.

    Raises
    ------
    FormatError
        With the first value that does not lie on the grid.
    RangeError
        If a code needs more than 63 bits.
    """
    shape = np.broadcast_shapes(np.shape(values), np.shape(exponents))
    exponents, values = np.array(np.broadcast_to(exponents, shape), dtype=np.int64), np.broadcast_to(values, shape)
    codes = np.ldexp(np.asarray(values, dtype=np.float64), -exponents)
    _refuse(np.argwhere(codes != np.rint(codes)), values, exponents)
    codes = int64(np.array([int(c) for c in codes.reshape(-1)], dtype=object).reshape(codes.shape))
    lo, hi = (int(codes.min()), int(codes.max())) if codes.size else (0, 0)
    return Grid(codes, exponents, Format.of_range(lo, hi, "the constant"))


def exponents_of(scale: np.ndarray, what: str) -> np.ndarray:
    """Return e for scales 2**e.

    Parameters
    ----------
    scale : array of real
        Scales.
    what : str
        What they are, for the message.

    Returns
    -------
    int64 array, shape of `scale`
        Exponents.

    Raises
    ------
    FormatError
        With the first that is no power of two.
    """
    scale = np.asarray(scale, dtype=np.float64)
    mantissa, exponent = np.frexp(scale)
    wrong = mantissa != 0.5
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" at index {at[0] if len(at) == 1 else at}" if scale.size > 1 else ""
        raise FormatError(f"{what} must be a power of two, not {float(scale[at])!r}{where}")
    return np.asarray(exponent, dtype=np.int64) - 1


def parts_of(scale: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return exponents and factors of positive scales, exactly.

    Parameters
    ----------
    scale : array of real
        Scales.
    what : str
        What they are, for the message.

    Returns
    -------
    int64 array, shape of `scale`
        Exponents.
    float64 array, shape of `scale`, or None
        Factors in 1 to below 2; None where all are 1.

    Raises
    ------
    FormatError
        With the first that is not positive.
    """
    scale = np.asarray(scale, dtype=np.float64)
    if not (scale > 0).all():
        raise FormatError(f"{what} must be positive, not {float(scale[~(scale > 0)][0])!r}")
    mantissa, exponent = np.frexp(scale)
    return np.asarray(exponent, dtype=np.int64) - 1, None if (mantissa == 0.5).all() else np.asarray(mantissa * 2)


def scale_of(exponents: np.ndarray, factors: np.ndarray | None = None) -> Scale:
    """Return the scale of arrays of exponents and factors: of one axis at most.

    Parameters
    ----------
    exponents : int64 array
        Exponent of each value.
    factors : float64 array, shape of `exponents`, optional
        Factor of each value; 1 where left out.

    Returns
    -------
    Scale
        One step, or one for each index of one axis.

    Raises
    ------
    FormatError
        If the steps vary along two axes.
    """
    if exponents.size == 0:
        return Scale()
    if factors is None and (not any(exponents.strides) or (exponents == exponents.flat[0]).all()):
        return Scale.of(int(exponents.flat[0]))
    steps = np.ldexp(np.ones(exponents.shape) if factors is None else factors, exponents)
    if (steps == steps.flat[0]).all():
        return Scale.of_steps([float(steps.flat[0])])
    for axis in range(exponents.ndim):
        first = np.moveaxis(steps, axis, 0).reshape(exponents.shape[axis], -1)
        if (first == first[:, :1]).all():
            return Scale.of_steps([float(step) for step in first[:, 0]], axis)
    raise FormatError("a scale must be one number, or one for each index of one axis")


def _refuse(places: np.ndarray, values: np.ndarray, exponents: np.ndarray) -> None:
    if len(places):
        at = tuple(int(i) for i in places[0])
        where = f" at index {at[0] if len(at) == 1 else at}" if at else ""
        raise FormatError(f"{float(np.asarray(values)[at])!r}{where} does not lie on the grid 2^{int(exponents[at])}")


def fractions(values: np.ndarray) -> np.ndarray:
    """Return real values as an object array of rational numbers, exactly.

    Parameters
    ----------
    values : array of finite real
        Values.

    Returns
    -------
    object array of Fraction, shape of `values`
        The same numbers.
    """
    made = np.empty(values.size, dtype=object)
    made[:] = [Fraction(value) for value in values.reshape(-1).tolist()]
    return made.reshape(values.shape)


def int64(codes: np.ndarray) -> np.ndarray:
    """Return Python ints as int64; a `RangeError` if they need more than 63 bits.

    Parameters
    ----------
    codes : object array of int
        Codes.

    Returns
    -------
    int64 array, shape of `codes`
        The same numbers.

    Raises
    ------
    RangeError
        If they need more than 63 bits.
    """
    ends = _ends(codes)
    Format.of_range(min(0, *ends), max(0, *ends), "the constant")
    return codes.astype(np.int64)


def _ends(codes: np.ndarray) -> list[int]:
    return [int(codes.min()), int(codes.max())] if codes.size else [0]


def rounded_to(values: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the nearest codes (ties to even) of rational `values` on rational `steps`, and the greatest error in steps.

    Parameters
    ----------
    values, steps : object array of Fraction
        Values and positive steps, broadcast.

    Returns
    -------
    int64 array
        Codes.
    float
        Greatest absolute error, in 0..0.5 steps.

    Raises
    ------
    RangeError
        If a code needs more than 63 bits.
    """
    quotients = np.asarray(values / steps, dtype=object)
    codes = np.asarray(np.frompyfunc(round, 1, 1)(quotients), dtype=object)
    return int64(codes), float(
        max(map(abs, np.asarray(quotients - codes, dtype=object).reshape(-1).tolist()), default=0)
    )
