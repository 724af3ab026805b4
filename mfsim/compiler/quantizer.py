"""The QONNX `Quant` node: what it says, and what it does to a constant.

    y = (clip(round(x / scale + zero_point), lo, hi) - zero_point) * scale

The dialect has power-of-two scales and zero point 0. Rounding modes of QONNX and their names here:
ROUND is half_even, HALF_UP (QONNX: away from zero) is half_away, DOWN is toward_zero. With `narrow`
a signed word loses its least code and an unsigned word its greatest.
Source: the operator specification of QONNX, docs/qonnx-custom-ops/quant_op.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid, exponents_of, scale_of
from mfsim.errors import FormatError, did_you_mean
from mfsim.fixed_point import quantize
from mfsim.formats import Format, Scale

BITS = range(2, 33)
"""Word lengths of quantizers."""

ROUNDINGS = {
    "ROUND": "half_even",
    "HALF_EVEN": "half_even",
    "CEIL": "ceil",
    "FLOOR": "floor",
    "DOWN": "toward_zero",
    "ROUND_TO_ZERO": "toward_zero",
    "HALF_UP": "half_away",
}


@dataclass(frozen=True, eq=False)
class Quantizer:
    """What one Quant node says: `exponents` has the shape of its scale."""

    exponents: np.ndarray
    format: Format
    narrow: bool
    rounding: str

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest code."""
        cut = int(self.narrow)
        return (self.format.lo + cut, self.format.hi) if self.format.signed else (0, self.format.hi - cut)

    def same_as(self, other: Quantizer) -> bool:
        """Whether both turn every value into the same code on the same scale."""
        return (self.format, self.limits, self.rounding) == (other.format, other.limits, other.rounding) and (
            np.array_equal(self.exponents, other.exponents)
        )

    def spread(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the exponents broadcast to values of `shape`; a `FormatError` if they do not suit it."""
        try:
            return np.array(np.broadcast_to(self.exponents, shape))
        except ValueError as error:
            raise FormatError(
                f"a scale of shape {self.exponents.shape} does not suit values of shape {shape}"
            ) from error

    def scale_for(self, shape: tuple[int, ...]) -> Scale:
        """Return the scale of values of `shape` (axis 0 of size 1 for a batch)."""
        if self.exponents.size == 1:
            return Scale.of(int(self.exponents.flat[0]))
        return scale_of(self.spread(shape))

    def of_constant(self, values: np.ndarray) -> Grid:
        """Return the codes of real values."""
        exponents = self.spread(values.shape)
        codes = quantize(values, scale_of(exponents), self.format, rounding=self.rounding, narrow=self.narrow)
        return Grid(np.minimum(codes, self.limits[1]), exponents, self.format)


def quantizer_of(node: FileNode, scale: np.ndarray, zero_point: np.ndarray, bit_width: np.ndarray) -> Quantizer:
    """Return the checked quantizer of a Quant node with constant parameters; a `FormatError` says what is wrong."""
    exponents = exponents_of(scale, "the scale")
    if np.any(zero_point != 0):
        raise FormatError(
            f"the zero point must be 0, not {float(np.asarray(zero_point).reshape(-1)[np.argmax(zero_point != 0)])!r}"
        )
    signed, narrow = bool(node.integer("signed", 1)), bool(node.integer("narrow", 0))
    mode = node.text("rounding_mode", "ROUND")
    if mode.upper() not in ROUNDINGS:
        raise FormatError(
            f"`rounding_mode` must be one of {', '.join(ROUNDINGS)}, not {mode!r}{did_you_mean(mode.upper(), ROUNDINGS)}"
        )
    return Quantizer(exponents, Format(word_length(bit_width, BITS), signed), narrow, ROUNDINGS[mode.upper()])


def word_length(bit_width: np.ndarray, allowed: range) -> int:
    """Return a constant bit width as an int in `allowed`; a `FormatError` otherwise."""
    widths = np.asarray(bit_width, dtype=np.float64).reshape(-1)
    if widths.size == 0 or (widths != widths[0]).any():
        raise FormatError("the bit width must be one number")
    if widths[0] not in allowed:
        raise FormatError(f"the bit width must be an integer in {allowed[0]}..{allowed[-1]}, not {widths[0]:g}")
    return int(widths[0])
