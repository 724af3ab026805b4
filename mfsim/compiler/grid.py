"""`Grid`: constant values that lie exactly on powers of two, and the exact way from reals to codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfsim.errors import FormatError
from mfsim.formats import Format, Scale


@dataclass(frozen=True, eq=False)
class Grid:
    """Constant values codes * 2**exponents.

    Attributes
    ----------
    codes : int64 array.
    exponents : int64 array of the shape of `codes`.
    format : the word that the quantizer gave them.
    """

    codes: np.ndarray
    exponents: np.ndarray
    format: Format

    @property
    def scale(self) -> Scale:
        """The scale, per tensor or along one axis; a `FormatError` if it varies along two."""
        return scale_of(self.exponents)

    def at(self, exponents: np.ndarray | int) -> np.ndarray:
        """Return the codes of the same values on other exponents (both broadcast), exactly.

        Raises `FormatError`, with the first value that lies between two codes of its grid.
        """
        shape = np.broadcast_shapes(self.codes.shape, np.shape(exponents))
        exponents = np.broadcast_to(np.asarray(exponents, dtype=np.int64), shape)
        places = self.exponents - exponents
        up, down = np.maximum(places, 0), np.maximum(-places, 0)
        codes = self.codes.astype(object)
        whole = codes << up.astype(object)
        kept = whole >> down.astype(object)
        _refuse(np.argwhere(kept << down.astype(object) != whole), np.broadcast_to(self.values(), shape), exponents)
        return _int64(kept)

    def values(self) -> np.ndarray:
        """Return the real values, float64."""
        return np.asarray(np.ldexp(self.codes.astype(np.float64), self.exponents))


def exact_grid(values: np.ndarray, exponents: np.ndarray | int) -> Grid:
    """Return real values as a `Grid` on exponents (both broadcast); a `FormatError` shows one that does not fit."""
    shape = np.broadcast_shapes(np.shape(values), np.shape(exponents))
    exponents, values = np.array(np.broadcast_to(exponents, shape), dtype=np.int64), np.broadcast_to(values, shape)
    codes = np.ldexp(np.asarray(values, dtype=np.float64), -exponents)
    _refuse(np.argwhere(codes != np.rint(codes)), values, exponents)
    codes = _int64(np.array([int(c) for c in codes.reshape(-1)], dtype=object).reshape(codes.shape))
    lo, hi = (int(codes.min()), int(codes.max())) if codes.size else (0, 0)
    return Grid(codes, exponents, Format.of_range(lo, hi, "the constant"))


def exponents_of(scale: np.ndarray, what: str) -> np.ndarray:
    """Return e for scales 2**e, int64; a `FormatError` shows the first that is no power of two."""
    scale = np.asarray(scale, dtype=np.float64)
    mantissa, exponent = np.frexp(scale)
    wrong = np.argwhere(mantissa != 0.5)
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        where = f" at index {at[0] if len(at) == 1 else at}" if scale.size > 1 else ""
        raise FormatError(f"{what} must be a power of two, not {float(scale[at])!r}{where}")
    return np.asarray(exponent, dtype=np.int64) - 1


def scale_of(exponents: np.ndarray) -> Scale:
    """Return the scale of an array of exponents: of one axis at most."""
    if exponents.size == 0 or (exponents == exponents.flat[0]).all():
        return Scale.of(int(exponents.flat[0]) if exponents.size else 0)
    for axis in range(exponents.ndim):
        first = np.moveaxis(exponents, axis, 0).reshape(exponents.shape[axis], -1)
        if (first == first[:, :1]).all():
            return Scale(tuple(int(e) for e in first[:, 0]), axis)
    raise FormatError("a scale must be one number, or one for each index of one axis")


def _refuse(places: np.ndarray, values: np.ndarray, exponents: np.ndarray) -> None:
    if len(places):
        at = tuple(int(i) for i in places[0])
        where = f" at index {at[0] if len(at) == 1 else at}" if at else ""
        raise FormatError(f"{float(np.asarray(values)[at])!r}{where} does not lie on the grid 2^{int(exponents[at])}")


def _int64(codes: np.ndarray) -> np.ndarray:
    for code in (codes.max(), codes.min()) if codes.size else ():
        Format.of_range(min(int(code), 0), max(int(code), 0), "the constant")
    return codes.astype(np.int64)
