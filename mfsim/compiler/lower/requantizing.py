"""From an activation to the codes of a quantizer: by shifts where the scales are powers of two apart, else by multipliers.

Codes are counted from the zero point (stored code - zero point). Where the rounding of a file depends on
the zero point - ties to even with an odd one, or rounding by magnitude - it is added first and subtracted
afterwards, both counted; elsewhere only the ends of the word move.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.frontend.quantizer import Quantizer
from mfsim.compiler.lower.lowering import Lowering
from mfsim.errors import FormatError, UnsupportedOpError
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.elementwise.add import OP as ADD
from mfsim.ops.elementwise.clip import OP as CLIP
from mfsim.ops.elementwise.sub import OP as SUB
from mfsim.ops.grid.requantize import OP as REQUANTIZE
from mfsim.ops.grid.rescale import OP as RESCALE
from mfsim.ops.grid.rescale import target_attributes

MOVE_WITH_THE_ZERO_POINT = ("floor", "ceil", "half_up")
"""Roundings that commute with adding any integer."""


def requantized(lowering: Lowering, node: FileNode, x: Tensor, quantizer: Quantizer, output: str | None) -> str:
    """Return the codes of `x` as `quantizer` makes them, counted from the zero point.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Quantizer of the file.
    x : Tensor
        Activation.
    quantizer : Quantizer
        What the node says.
    output : str or None
        Value of the file that the last node writes; None for an inner one.

    Returns
    -------
    str
        Name of the tensor.

    Raises
    ------
    FormatError
        If the scales do not suit each other.
    UnsupportedOpError
        If zero point and rounding need scales that are powers of two apart.
    """
    scale, zero_point = quantizer.scale_for(x.shape), quantizer.one_zero_point
    shifts, axis = _shifts(x, scale)
    lo, hi = quantizer.limits
    if quantizer.added_before and _moves_ties(quantizer.rounding, zero_point):
        places = [shift for shift in shifts if shift is not None]
        if len(places) == len(shifts) and max(places) > 0:
            return _around_zero_point(lowering, node, x, quantizer, places, axis, output)
        if len(places) < len(shifts) and quantizer.rounding != "half_even":
            raise UnsupportedOpError(
                f"a zero point with the rounding {quantizer.rounding} needs scales that are powers of two apart; "
                "use the rounding mode ROUND or zero point 0"
            )
    return _fitted(lowering, node, x, scale, quantizer, output, (lo - zero_point, hi - zero_point))


def _moves_ties(rounding: str, zero_point: int) -> bool:
    """Whether rounding x + zero_point differs from rounding x and adding it."""
    return (
        zero_point != 0
        and rounding not in MOVE_WITH_THE_ZERO_POINT
        and (rounding != "half_even" or zero_point % 2 == 1)
    )


def _around_zero_point(
    lowering: Lowering,
    node: FileNode,
    x: Tensor,
    quantizer: Quantizer,
    shifts: list[int],
    axis: int,
    output: str | None,
) -> str:
    """Return the codes with the zero point added before the shift and subtracted afterwards."""
    zero_point, scale = quantizer.one_zero_point, quantizer.scale_for(x.shape)
    if min(shifts) < 0:
        raise UnsupportedOpError(
            f"a zero point with the rounding {quantizer.rounding} needs an input of a finer scale in every channel"
        )
    start = np.array([zero_point << shift for shift in shifts], dtype=np.int64)
    start = start.reshape(-1, *[1] * (len(x.shape) - 1 - axis)) if len(shifts) > 1 else start.reshape(())
    offset = lowering.constant(f"{x.name}.zero_point", start, x.scale if x.scale.axis is None else x.scale.on(0))
    moved = lowering.builder.tensors[lowering.inner(node, ADD.name, [x.name, offset])]
    stored = _fitted(lowering, node, moved, scale, quantizer, None, quantizer.limits)
    minus = lowering.constant(f"{stored}.zero_point", np.array(zero_point, dtype=np.int64), scale)
    return _last(lowering, node, SUB.name, [stored, minus], {}, output)


def _fitted(
    lowering: Lowering,
    node: FileNode,
    x: Tensor,
    scale: Scale,
    quantizer: Quantizer,
    output: str | None,
    limits: tuple[int, int],
) -> str:
    """Return the codes of x rounded to `scale` and kept within `limits`."""
    lo, hi = limits
    word = Format.of_range(min(lo, -1) if quantizer.format.signed else lo, hi)
    narrow = int(word.signed and lo == word.lo + 1)
    if (lo, hi) == (word.lo + narrow, word.hi):
        return rescaled(lowering, node, x, scale, word, quantizer.rounding, output, narrow)
    wide = None if lowering.multiplier_bits else quantizer.format
    fitted = rescaled(lowering, node, x, scale, wide, quantizer.rounding, None)
    return _last(lowering, node, CLIP.name, [fitted], {"lo": lo, "hi": hi}, output)


def rescaled(
    lowering: Lowering,
    node: FileNode,
    x: Tensor,
    scale: Scale,
    word: Format | None = None,
    rounding: str = "half_even",
    output: str | None = None,
    narrow: int = 0,
) -> str:
    """Return x rounded to another scale and saturated to `word`, or in a word that holds every result.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file that asks for it.
    x : Tensor
        Activation.
    scale : Scale
        Wanted scale.
    word : Format, optional
        Word of the result; one that holds every result where left out.
    rounding : str
        Rounding rule.
    output : str, optional
        Value of the file that is written; an inner one where left out.
    narrow : {0, 1}
        Whether the least code of the word is left out.

    Returns
    -------
    str
        Name of the tensor.

    Raises
    ------
    FormatError
        If the file is in the dialect and the scales are no powers of two apart.
    """
    shifts, axis = _shifts(x, scale)
    if word is None:
        word = _word_of(x, _ratios(x, scale), axis)
    attributes: dict[str, object] = {
        "axis": axis,
        "bits": word.bits,
        "signed": int(word.signed),
        "narrow": narrow,
        "rounding": rounding,
    }
    if all(shift is not None for shift in shifts):
        return _last(lowering, node, REQUANTIZE.name, [x.name], {"shift": tuple(shifts)} | attributes, output)
    if lowering.strict:
        raise FormatError(f"the scales {x.scale} and {scale} must be powers of two apart")
    attributes |= target_attributes(scale) | {"multiplier_bits": lowering.multiplier_bits}
    made = _last(lowering, node, RESCALE.name, [x.name], attributes, output)
    lowering.note(
        node,
        f"the codes of `{x.name}` on the scale {x.scale} are multiplied by a fixed-point constant onto {scale}; "
        "a code may differ by 1",
    )
    return made


def _shifts(x: Tensor, scale: Scale) -> tuple[list[int | None], int]:
    """Return s where scale(x) / `scale` is 2**-s, None where it is no power of two, and the axis of the scales or -1."""
    axis, size = _common_axis(x, scale)
    if x.scale.factors or scale.factors:
        return [_shift_of(ratio) for ratio in _ratios(x, scale)], axis
    pairs = zip(x.scale.along(size), scale.along(size), strict=True)
    return [want - have for have, want in pairs], axis


def _ratios(x: Tensor, scale: Scale) -> list[Fraction]:
    """Return scale(x) / `scale`, one or one for each index of an axis."""
    _, size = _common_axis(x, scale)
    pairs = zip(x.scale.steps_along(size), scale.steps_along(size), strict=True)
    return [have / want for have, want in pairs]


def _common_axis(x: Tensor, scale: Scale) -> tuple[int, int]:
    """Return the axis along which one of the scales varies, or -1, and its size."""
    axis = scale.axis if scale.axis is not None else x.scale.axis
    if None not in (scale.axis, x.scale.axis) and scale.axis != x.scale.axis:
        raise FormatError(f"a scale along axis {x.scale.axis} cannot be requantized to one along axis {scale.axis}")
    return (-1, 1) if axis is None else (axis, x.shape[axis])


def _shift_of(ratio: Fraction) -> int | None:
    """Return s for a ratio of 2**-s, None for any other."""
    scale = Scale.of_steps([ratio])
    return None if scale.factors else -scale.exponent


def _word_of(x: Tensor, ratios: list[Fraction], axis: int) -> Format:
    los, his = (x.range.lo, x.range.hi) if axis < 0 else x.range.along(axis, x.shape[axis])
    if len(ratios) == 1:
        ratios = ratios * len(los)
    low = min(int(lo * ratio // 1) for lo, ratio in zip(los, ratios, strict=True))
    high = max(int(-(-hi * ratio // 1)) for hi, ratio in zip(his, ratios, strict=True))
    return Format.of_range(low, high, "a rescaled code")


def clipped(lowering: Lowering, node: FileNode, quantizer: Quantizer) -> Quantizer:
    """Return the quantizer of a QuantizeLinear together with a Clip of its codes right behind, which is then done.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file; the Clip is kept in `clips`.
    node : FileNode
        QuantizeLinear.
    quantizer : Quantizer
        What it says.

    Returns
    -------
    Quantizer
        With the narrower limits; itself without a Clip.
    """
    users = lowering.graph.consumers.get(node.outputs[0], ())
    if len(users) != 1 or (users[0].domain, users[0].op) != ("", "Clip") or node.outputs[0] in lowering.graph.outputs:
        return quantizer
    (clip,) = users
    lo, hi = quantizer.limits
    bounds = [lowering.optional_ints(clip, k, "a bound") for k in (1, 2)]
    lo = lo if bounds[0] is None else min(max(lo, bounds[0][0]), hi)
    hi = hi if bounds[1] is None else max(min(hi, bounds[1][0]), lo)
    word = Format.of_range(min(lo, -1), hi) if quantizer.format.signed else Format.of_range(lo, hi)
    lowering.clips[clip] = node
    return replace(quantizer, limits=(lo, hi), format=word)


def _last(
    lowering: Lowering, node: FileNode, op: str, inputs: list[str], attributes: dict[str, object], output: str | None
) -> str:
    if output is None:
        return lowering.inner(node, op, inputs, attributes)
    return lowering.emit(node, op, inputs, attributes, output=output)
