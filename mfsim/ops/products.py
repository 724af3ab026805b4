"""What the multiplication-free and the dense products share: definition, grids, words, counts.

A multiplication-free (MF) term of x and w is a sum of two parts, each of one operand and one sign:

    form `ef`    x-part sign(w) * x,    w-part sign(x) * w      = sign(x) sign(w) (|x| + |w|)
    form `abs`   x-part sign(w) * |x|,  w-part sign(x) * |w|

`sign_zero` is the sign of the code 0. The parts lie on the grids of x and of w. On the grid `split`
each has its own accumulator, and one shift and one add per output join them; `shared` needs x and w
on one scale and has one accumulator; `aligned` shifts the operands to the finer scale first. A bias
starts the accumulator that lies on the finer grid; a sum that nothing starts begins with its first
operand, conditionally negated.

Sources: `ef`: Afrasiyabi et al., arXiv 1702.02676; `abs`: "Learned Queries and Keys", eq. 15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Node, Tensor
from mfsim.ops.bounds import Bounds, Operands, Windows, dense_bounds, mf_bounds, mf_parts, over_windows, spread
from mfsim.ops.op import Attribute, Inference, Row, objects, result, rows

FORMS = ("ef", "abs")
GRIDS = ("split", "shared", "aligned")

MF_ATTRIBUTES = (
    Attribute("form", "str", "which MF operator", "ef", FORMS),
    Attribute("sign_zero", "int", "sign of the code 0: 0, or 1 for a hardware sign bit", 0, (0, 1)),
    Attribute("grid", "str", "where the two parts are accumulated", "split", GRIDS),
    Attribute("shift_x", "ints", "left shift of the x-part; one, or one for each output", derived=True),
    Attribute("shift_w", "ints", "left shift of the w-part; one, or one for each output", derived=True),
)
"""Attributes of every MF product."""

MF_HELD = {"split_sum.acc_x": "acc_x", "split_sum.acc_w": "acc_w", "joint_sum.acc": "acc"}
"""Which word holds which value of an MF sum."""

DENSE_HELD = {"product_sums.mul": "product", "product_sums.total": "acc"}
"""Which word holds which value of a sum of products."""


@dataclass(frozen=True)
class Sums:
    """The sums of a product: output `shape` with the outputs along `axis`, bounded operands, windows of a convolution."""

    op: str
    shape: tuple[int, ...]
    axis: int
    operands: Operands
    tight: bool
    windows: Windows | None = None


def unpacked(tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return x, w and the bias or None.

    Parameters
    ----------
    tensors : sequence of Tensor; x, w and perhaps a bias

    Returns
    -------
    tuple; (x, w, bias or None)
    """
    x, w, *rest = tensors
    return x, w, rest[0] if rest else None


def derive_shifts(x: Scale, w: Scale, grid: str) -> dict[str, tuple[int, ...]]:
    """Return `shift_x` and `shift_w` that bring both parts to the finer of the two grids.

    Parameters
    ----------
    x, w : Scale; grids of the operands; x has one scale, both are powers of two
    grid : str; "split", "shared" or "aligned"

    Returns
    -------
    dict of str to tuple of int; bits, at least 0; one, or one for each output

    Raises
    ------
    FormatError; if the scales do not suit `grid`
    """
    ex, ews = x.exponent, w.powers
    if grid == "shared" and any(e != ex for e in ews):
        raise FormatError(f"`grid` shared needs x and w on one scale, not {x} and {w}; use split")
    if grid == "aligned" and len(ews) != 1:
        raise FormatError("`grid` aligned needs one scale for all of w; use split")
    finest = [min(ex, ew) for ew in ews]
    shift_x = tuple(ex - f for f in finest)
    shift_w = tuple(ew - f for ew, f in zip(ews, finest, strict=True))
    return {
        "shift_x": shift_x if len(set(shift_x)) > 1 else shift_x[:1],
        "shift_w": shift_w if len(set(shift_w)) > 1 else shift_w[:1],
    }


def derive(tensors: Sequence[Tensor], attributes: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the derived attributes of an MF product of `tensors` (x, w, perhaps a bias).

    Parameters
    ----------
    tensors : sequence of Tensor; x, w and perhaps a bias
    attributes : mapping; `grid` is read

    Returns
    -------
    dict of str to tuple of int; `shift_x` and `shift_w`

    Raises
    ------
    FormatError; if the scales do not suit `grid`
    """
    return derive_shifts(tensors[0].scale, tensors[1].scale, attributes["grid"])


def joined_scale(x: Scale, w: Scale, attributes: Mapping[str, Any], axis: int) -> Scale:
    """Return the output scale, checking that the shifts lead both parts to the same grid.

    Parameters
    ----------
    x, w : Scale; grids of the operands, powers of two
    attributes : mapping; `grid`, `shift_x` and `shift_w`
    axis : int; axis of the outputs in the result

    Returns
    -------
    Scale; the finer grid, one, or one for each output

    Raises
    ------
    FormatError; if the shifts are not those that the scales need
    """
    for name, value in derive_shifts(x, w, attributes["grid"]).items():
        if attributes[name] != value:
            raise FormatError(f"`{name}` must be {value} for the scales {x} and {w}, not {attributes[name]}")
    exponents = tuple(min(x.exponent, e) for e in w.powers)
    return Scale(exponents, axis if len(exponents) > 1 else None)


def dense_scale(x: Scale, w: Scale, axis: int) -> Scale:
    """Return the output scale of a dense product: scale(x) * scale(w[o]), with the outputs along `axis`.

    Parameters
    ----------
    x, w : Scale; grids of the operands
    axis : int; axis of the outputs in the result

    Returns
    -------
    Scale; grid of the sums
    """
    if x.axis is not None or not (x.factors or w.factors):
        return w.on(axis).moved(x.exponent)
    return w.on(axis).times(x.steps)


def bias_codes(w: Tensor, bias: Tensor | None, scale: Scale, sums: Sums) -> np.ndarray | None:
    """Return the codes of `bias` (or None), which must be a constant [outputs] on the accumulator's grid.

    Parameters
    ----------
    w : Tensor; weights, constant if there is a bias
    bias : Tensor or None; constant of shape (outputs,)
    scale : Scale; grid of the accumulator
    sums : Sums; the sums that the bias starts

    Returns
    -------
    object array, shape (outputs,), or None; Python ints

    Raises
    ------
    FormatError; if w or the bias is not constant, or the bias has another shape or grid
    """
    if bias is None:
        return None
    if not w.is_constant or bias.codes is None:
        raise FormatError("only constant weights take a bias, and it must be constant")
    outputs = sums.shape[sums.axis]
    if bias.shape != (outputs,):
        raise FormatError(f"the bias must have the shape ({outputs},), not {bias.shape}")
    if bias.scale.on(sums.axis) != scale:
        raise FormatError(f"the bias must lie on the grid of its accumulator, {scale}, not {bias.scale}")
    return objects(bias.codes)


def mf_inference(x: Tensor, w: Tensor, bias: Tensor | None, attributes: Mapping[str, Any], sums: Sums) -> Inference:
    """Return what an MF product proves: its result, its accumulators, tightness.

    Parameters
    ----------
    x, w : Tensor; operands
    bias : Tensor or None; constant of shape (outputs,) on the finer grid
    attributes : mapping; complete attributes of the product
    sums : Sums; its sums

    Returns
    -------
    Inference; words `acc_x` and `acc_w` on the grid `split`, else `acc`

    Raises
    ------
    FormatError; if shifts, scales or the bias do not suit each other
    RangeError; if no word of at most 63 bits holds a sum
    """
    scale = joined_scale(x.scale, w.scale, attributes, sums.axis)
    start = bias_codes(w, bias, scale, sums)
    parts = over_windows(lambda operands: mf_bounds(operands, attributes), sums.operands, sums.windows)
    range_ = parts[2].started_with(start).range(sums.axis)
    words = mf_words(parts, start, attributes)
    return Inference((result(sums.shape, range_, scale, f"the result of {sums.op}"),), words, sums.tight)


def mf_words(parts: Sequence[Bounds], bias: np.ndarray | None, attributes: Mapping[str, Any]) -> dict[str, Format]:
    """Return the inner accumulators of an MF product for its bounds (x-part, w-part, joined).

    Parameters
    ----------
    parts : sequence of Bounds; bounds of x-parts, w-parts and whole terms
    bias : object array, shape (outputs,), or None; codes on the finer grid
    attributes : mapping; `grid`, `shift_x` and `shift_w`

    Returns
    -------
    dict of str to Format; the smallest words that hold every partial sum

    Raises
    ------
    RangeError; if no word of at most 63 bits does
    """
    x_part, w_part, joined = parts
    if attributes["grid"] != "split":
        return {"acc": Format.of_range(*joined.started_with(bias).partial, "the accumulator")}
    if bias is not None:
        on_x = np.array(spread(attributes["shift_x"], len(bias))) == 0
        x_part, w_part = x_part.started_with(bias * on_x), w_part.started_with(bias * ~on_x)
    return {
        "acc_x": Format.of_range(*x_part.partial, "the accumulator of the x-part"),
        "acc_w": Format.of_range(*w_part.partial, "the accumulator of the w-part"),
    }


def dense_inference(x: Tensor, w: Tensor, bias: Tensor | None, sums: Sums) -> Inference:
    """Return what a dense product proves: its result, the words of products and of the accumulator, tightness.

    Parameters
    ----------
    x, w : Tensor; operands
    bias : Tensor or None; constant of shape (outputs,) on the grid of the sums
    sums : Sums; its sums

    Returns
    -------
    Inference; words `product` and `acc`

    Raises
    ------
    FormatError; if the bias does not suit
    RangeError; if no word of at most 63 bits holds a sum
    """
    scale = dense_scale(x.scale, w.scale, sums.axis)
    start = bias_codes(w, bias, scale, sums)
    (bounds,) = over_windows(lambda operands: (dense_bounds(operands),), sums.operands, sums.windows)
    total = bounds.started_with(start)
    words = {
        "product": Format.of_range(*bounds.term, "a product"),
        "acc": Format.of_range(*total.partial, "the accumulator"),
    }
    return Inference(
        (result(sums.shape, total.range(sums.axis), scale, f"the result of {sums.op}"),), words, sums.tight
    )


def mf_terms(x: np.ndarray, w: np.ndarray, attributes: Mapping[str, Any], gains: Sequence[np.ndarray]) -> np.ndarray:
    """Return MF terms on the finer grid, from the definition; `gains` are those of `shift_gains`, or broadcast so.

    Parameters
    ----------
    x, w : object array; codes that broadcast to each other
    attributes : mapping; `form` and `sign_zero`
    gains : sequence of two arrays; 2**shift_x and 2**shift_w

    Returns
    -------
    object array; terms, in LSBs of the finer grid
    """
    x_part, w_part = mf_parts(x, w, attributes["form"], attributes["sign_zero"])
    terms: np.ndarray = x_part * gains[0] + w_part * gains[1]
    return terms


def shift_gains(attributes: Mapping[str, Any]) -> list[np.ndarray]:
    """Return 2**shift_x and 2**shift_w, each as one Python int or one for each output.

    Parameters
    ----------
    attributes : mapping; `shift_x` and `shift_w`, in bits

    Returns
    -------
    list of two object arrays; shape (1,) or (outputs,)
    """
    return [np.array([2**s for s in attributes[name]], dtype=object) for name in ("shift_x", "shift_w")]


def mf_count(
    node: Node, inputs: Sequence[Tensor], outputs: Sequence[Tensor], axis: int, terms: int, sums: int
) -> list[Row]:
    """Return the rows of an MF product with `terms` terms in all its `sums`, its outputs along `axis`.

    Parameters
    ----------
    node : Node; the node, with its words
    inputs, outputs : sequence of Tensor; its tensors
    axis : int; axis of the outputs in the result
    terms, sums : int; terms of all sums, and sums, of one sample

    Returns
    -------
    list of Row; preparation of the operands (offline where constant) and the accumulation
    """
    x, w, bias = unpacked(inputs)
    (y,) = outputs
    attributes: Mapping[str, Any] = node.attributes
    words = node.words
    prepared = [
        *_operand_rows(node, x, attributes["shift_x"]),
        *_operand_rows(node, w, attributes["shift_w"]),
    ]
    bx, bw, by = x.format.bits, w.format.bits, y.format.bits
    if attributes["grid"] != "split":
        bits = words["acc"].bits
        operand = max(bx + attributes["shift_x"][0], bw + attributes["shift_w"][0])
        return prepared + rows(
            node,
            ("addsub", (bits, operand), 2 * terms - sums * (bias is None)),
            ("neg", (operand,), sums if bias is None else 0),
        )
    channels = y.shape[axis]
    each = sums // channels
    shifted_x = each * sum(s > 0 for s in spread(attributes["shift_x"], channels))
    shifted_w = each * sum(s > 0 for s in spread(attributes["shift_w"], channels))
    started_x, started_w = (sums - shifted_x, shifted_x) if bias is not None else (0, 0)
    ax, aw = words["acc_x"].bits, words["acc_w"].bits
    return prepared + rows(
        node,
        ("addsub", (ax, bx), terms - sums + started_x),
        ("addsub", (aw, bw), terms - sums + started_w),
        ("neg", (bx,), sums - started_x),
        ("neg", (bw,), sums - started_w),
        ("shift", (ax,), shifted_x),
        ("shift", (aw,), shifted_w),
        ("addsub", (by, by), sums),
    )


def _operand_rows(node: Node, tensor: Tensor, shifts: Sequence[int]) -> list[Row]:
    """Return the rows of preparing one operand: its signs, magnitudes and alignment (offline if constant)."""
    bits, codes, attributes = (tensor.format.bits,), tensor.sample_size, node.attributes
    made = rows(
        node,
        ("sign", bits, codes),
        ("abs", bits, codes if attributes["form"] == "abs" else 0),
        ("shift", bits, codes if attributes["grid"] == "aligned" and shifts[0] > 0 else 0),
    )
    return [Row(**{**vars(row), "offline": True}) for row in made] if tensor.is_constant else made


def dense_count(node: Node, inputs: Sequence[Tensor], terms: int, sums: int) -> list[Row]:
    """Return the rows of a dense product with `terms` products in all its `sums`.

    Parameters
    ----------
    node : Node; the node, with its words
    inputs : sequence of Tensor; x, w and perhaps a bias
    terms, sums : int; terms of all sums, and sums, of one sample

    Returns
    -------
    list of Row; multiplications and additions
    """
    x, w, bias = unpacked(inputs)
    multiplied_by = node.attributes.get("constant", "learned") if w.is_constant else "activation"
    return rows(
        node,
        ("mul", (x.format.bits, w.format.bits), terms, multiplied_by),
        ("addsub", (node.words["acc"].bits, node.words["product"].bits), terms - sums * (bias is None)),
    )
