"""What a quantizer of a file says, and what it does to a constant: `Quant` of QONNX, `QuantizeLinear` of ONNX.

    Quant            y = (clip(round(x / scale + zero_point), lo, hi) - zero_point) * scale
    QuantizeLinear   y = clip(round(x / scale) + zero_point, lo, hi), half-even; the codes themselves

The dialect has power-of-two scales and zero point 0 (`strict`); third-party files may have any. Here and
behind every quantizer a code is counted from the zero point: code = stored code - zero point.

Rounding modes of QONNX and their names here: ROUND is half_even, HALF_UP (QONNX: away from zero) is
half_away, DOWN is toward_zero. With `narrow` a signed word loses its least code and an unsigned word its
greatest. Source: the operator specification of QONNX, docs/qonnx-custom-ops/quant_op.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.grid import Grid, exponents_of, parts_of, scale_of
from mfsim.errors import FormatError, UnsupportedOpError, did_you_mean
from mfsim.ir.fixed_point import quantize, round_floats
from mfsim.ir.formats import Format, Range, Scale

BITS = range(2, 33)
"""Word lengths of quantizers of the dialect."""

FOREIGN_BITS = range(1, 33)
"""Word lengths of third-party quantizers."""

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
    """What one quantizer says.

    Attributes
    ----------
    exponents, factors : of its scale, in its shape; `factors` is None for powers of two.
    format : the word of the stored codes.
    limits : the least and the greatest stored code.
    rounding : name of the rule.
    zero_point : int64 array that broadcasts like the scale.
    added_before : whether the zero point is added before the rounding, as QONNX does.
    """

    exponents: np.ndarray
    format: Format
    limits: tuple[int, int]
    rounding: str
    factors: np.ndarray | None = None
    zero_point: np.ndarray = field(default_factory=lambda: np.zeros((), dtype=np.int64))
    added_before: bool = True

    @property
    def one_zero_point(self) -> int:
        """The zero point of an activation: one number."""
        first = int(self.zero_point.reshape(-1)[0])
        if (self.zero_point != first).any():
            raise UnsupportedOpError("the zero point of an activation must be one number, not one for each channel")
        return first

    def same_as(self, other: Quantizer) -> bool:
        """Whether both turn every value into the same code on the same scale.

        Parameters
        ----------
        other : Quantizer
            Quantizer to compare with.

        Returns
        -------
        bool
            True if format, limits, rounding, steps and zero points are equal.
        """
        mine, others = (
            (q.format, q.limits, q.rounding, q.added_before, q.steps.tolist(), q.zero_point.tolist())
            for q in (self, other)
        )
        return mine == others

    @property
    def steps(self) -> np.ndarray:
        """The scale as float64, exactly."""
        factors = np.ones(self.exponents.shape) if self.factors is None else self.factors
        return np.asarray(np.ldexp(factors, self.exponents))

    def spread(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Broadcast parameters of the quantizer to the shape of its values.

        Parameters
        ----------
        values : array
            Exponents, factors or zero points.
        shape : tuple of int
            Shape of the quantized values.

        Returns
        -------
        array of `shape`, read-only
            A view of `values`.

        Raises
        ------
        FormatError
            If they do not broadcast to `shape`.
        """
        try:
            return np.broadcast_to(values, shape)
        except ValueError as error:
            raise FormatError(f"a scale of shape {values.shape} does not suit values of shape {shape}") from error

    def scale_for(self, shape: tuple[int, ...]) -> Scale:
        """Return the scale of values of `shape` (axis 0 of size 1 for a batch).

        Parameters
        ----------
        shape : tuple of int
            Shape of the quantized values.

        Returns
        -------
        Scale
            One step, or one for each index of one axis.

        Raises
        ------
        FormatError
            If the steps do not suit `shape`, or vary along two axes.
        """
        if self.exponents.size == 1:
            return Scale.of_steps([float(self.steps.flat[0])])
        factors = None if self.factors is None else self.spread(self.factors, shape)
        return scale_of(self.spread(self.exponents, shape), factors)

    def of_constant(self, values: np.ndarray) -> Grid:
        """Return the codes of real values, counted from the zero point, as the file computes them.

        Parameters
        ----------
        values : array of real
            Constant.

        Returns
        -------
        Grid
            Codes in the shape of `values`, saturated to `limits`.

        Raises
        ------
        FormatError
            If the parameters do not suit the shape of `values`.
        """
        exponents = self.spread(self.exponents, values.shape)
        if self.factors is None and not self.zero_point.any():
            codes = quantize(values, scale_of(exponents), self.format, rounding=self.rounding)
            np.clip(codes, *self.limits, out=codes)
            codes.flags.writeable = False
            return Grid(codes, exponents, self.format)
        factors = None if self.factors is None else self.spread(self.factors, values.shape)
        zero_point = self.spread(self.zero_point, values.shape)
        stored = _stored_codes(values, self.steps, zero_point, self.rounding, self.limits, self.added_before)
        return Grid(stored - zero_point, exponents, self.word(stored - zero_point), factors)

    def word(self, codes: np.ndarray) -> Format:
        """Return the word of constant codes: that of the stored codes, or a wider one if they do not fit it.

        Parameters
        ----------
        codes : int64 array
            Codes counted from the zero point.

        Returns
        -------
        Format
            Word that holds all of them.
        """
        lo, hi = (int(codes.min()), int(codes.max())) if codes.size else (0, 0)
        return self.format if self.format.holds(lo, hi) else Format.of_range(lo, hi, "the constant")

    def range(self) -> Range:
        """Return the range of the codes of an activation, counted from the zero point."""
        lo, hi = self.limits
        return Range.of(lo - self.one_zero_point, hi - self.one_zero_point)


def _stored_codes(
    values: np.ndarray,
    steps: np.ndarray,
    zero_point: np.ndarray,
    rounding: str,
    limits: tuple[int, int],
    added_before: bool,
) -> np.ndarray:
    """Return the stored codes of real values as a file computes them: quotients in the type of the values."""
    kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float32)
    quotients = values.astype(kind) / steps.astype(kind)
    if added_before:
        codes = round_floats(quotients + zero_point.astype(kind), rounding).astype(np.float64)
    else:
        codes = round_floats(quotients, rounding).astype(np.float64) + zero_point
    return np.asarray(np.clip(codes, *limits).astype(np.int64))


def quantizer_of(
    node: FileNode, scale: np.ndarray, zero_point: np.ndarray, bit_width: np.ndarray, strict: bool = True
) -> Quantizer:
    """Return the checked quantizer of a Quant node with constant parameters.

    Parameters
    ----------
    node : FileNode
        Quant node; its attributes are read.
    scale : array of real
        Steps, positive.
    zero_point : array of real
        Zero points, integers.
    bit_width : array of real
        Word length, one number.
    strict : bool
        Whether to ask for the dialect: power-of-two scales, zero point 0, at least 2 bits.

    Returns
    -------
    Quantizer
        The quantizer.

    Raises
    ------
    FormatError
        If a parameter is not what it must be.
    """
    exponents, factors = (exponents_of(scale, "the scale"), None) if strict else parts_of(scale, "the scale")
    wrong = zero_point != (0 if strict else np.rint(zero_point))
    if np.any(wrong):
        wanted = "0" if strict else "an integer"
        raise FormatError(f"the zero point must be {wanted}, not {float(zero_point.reshape(-1)[np.argmax(wrong)])!r}")
    signed, narrow = bool(node.integer("signed", 1)), bool(node.integer("narrow", 0))
    mode = node.text("rounding_mode", "ROUND")
    if mode.upper() not in ROUNDINGS:
        raise FormatError(
            f"`rounding_mode` must be one of {', '.join(ROUNDINGS)}, not {mode!r}{did_you_mean(mode.upper(), ROUNDINGS)}"
        )
    word = Format(word_length(bit_width, BITS if strict else FOREIGN_BITS), signed)
    limits = (word.lo + narrow, word.hi) if signed else (0, word.hi - narrow)
    return Quantizer(exponents, word, limits, ROUNDINGS[mode.upper()], factors, np.rint(zero_point).astype(np.int64))


def linear_quantizer(scale: np.ndarray, zero_point: np.ndarray, axis: int, rank: int) -> Quantizer:
    """Return the quantizer of a QuantizeLinear, or what a DequantizeLinear undoes; the type of `zero_point` is the word.

    A scale or zero point of several numbers runs along `axis` of values of `rank` axes.

    Parameters
    ----------
    scale : array of real, at most one axis
        Steps, positive.
    zero_point : integer array, at most one axis
        Zero points.
    axis : int
        Axis of the values, which may be negative.
    rank : int
        Number of axes of the values.

    Returns
    -------
    Quantizer
        The quantizer.

    Raises
    ------
    UnsupportedOpError
        If the codes are no integers, or a scale is one for each block.
    FormatError
        If a step is not positive, or the word is too long.
    """
    kind = zero_point.dtype.name
    signed = kind.startswith("int")
    if not signed and not kind.startswith("uint"):
        raise UnsupportedOpError(f"the codes must be integers, not {kind}; quantize to integers of at most 32 bits")
    word = Format(int(kind.lstrip("uint")), signed)
    if max(scale.ndim, zero_point.ndim) > 1 and max(scale.size, zero_point.size) > 1:
        raise UnsupportedOpError("a scale must be one number, or one for each index of one axis, not for each block")
    view = [-1 if k == axis % rank else 1 for k in range(rank)]
    scale, zero_point = (part.reshape(view if part.size > 1 else ()) for part in (scale, zero_point))
    exponents, factors = parts_of(scale, "the scale")
    zero_point = zero_point.astype(np.int64)
    return Quantizer(exponents, word, (word.lo, word.hi), "half_even", factors, zero_point, added_before=False)


def word_length(bit_width: np.ndarray, allowed: range) -> int:
    """Return a constant bit width as an int in `allowed`; a `FormatError` otherwise.

    Parameters
    ----------
    bit_width : array of real
        The same number in every entry.
    allowed : range
        Allowed bits.

    Returns
    -------
    int
        Bits.

    Raises
    ------
    FormatError
        If it is not one number, or not allowed.
    """
    widths = np.asarray(bit_width, dtype=np.float64).reshape(-1)
    if widths.size == 0 or (widths != widths[0]).any():
        raise FormatError("the bit width must be one number")
    if widths[0] not in allowed:
        raise FormatError(f"the bit width must be an integer in {allowed[0]}..{allowed[-1]}, not {widths[0]:g}")
    return int(widths[0])
