"""What the AdderNet and the min-type products share: both operands on one grid, then one term of the pair.

    adder    -|x - w|
    min      sign(x) sign(w) min(|x|, |w|)

Neither splits into parts of one operand, so x and w are shifted left to the finer of their scales
before anything else; each has one scale. The result and the bias lie on that scale. Padding is code 0
before the operator: a padded tap gives -|w| with `adder`, and 0 with `min`.

`min` is monotone in each operand while the other is fixed, so its bounds are among the corners. The
greatest value of `adder` is where x and w come nearest on their own grids.

Sources: adder: Chen et al., "AdderNet: Do We Really Need Multiplications in Deep Learning?", CVPR 2020,
eq. 2. min: Pan et al., "Multiplication-Avoiding Variant of Power Iteration with Applications", ICASSP 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Node, Tensor, Value
from mfsim.ops.alignment import align, check_shifts
from mfsim.ops.bounds import Bounds, Operands, over_windows
from mfsim.ops.op import Attribute, Inference, Row, result, rows
from mfsim.ops.products import Sums, bias_codes, unpacked

ALIGNED_ATTRIBUTES = (
    Attribute("shift_x", "int", "left shift of x", derived=True),
    Attribute("shift_w", "int", "left shift of w", derived=True),
)
"""Attributes of every product on one grid."""

Ends = tuple[int, int]


@dataclass(frozen=True)
class Term:
    """One kind of term.

    Attributes
    ----------
    value : `value(x, w)`, the definition, on arrays of Python ints on one grid.
    bounds : `bounds(operands, shift_x, shift_w)`, the least and greatest value of every term.
    words : `words(x, w)`, the inner words for the ends (least, greatest) of the aligned operands.
    count : `count(node, bits, magnitude)`, primitive and operand widths of what a term costs before it
        is added, for the bits of the aligned operands.
    addend : the inner word that is added.
    magnitudes : whether the magnitudes of both operands are made beforehand.
    """

    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    bounds: Callable[[Operands, int, int], tuple[np.ndarray, np.ndarray]]
    words: Callable[[Ends, Ends], dict[str, Format]]
    count: Callable[[Node, tuple[int, int]], list[tuple[str, tuple[int, ...]]]]
    addend: str
    magnitudes: bool = False


def derive_for(op: str) -> Callable[[Sequence[Tensor], Mapping[str, Any]], dict[str, Value]]:
    """Return the `derive` of op `op`: the shifts that bring x and w to the finer of their scales.

    Parameters
    ----------
    op : str
        Name of the op, for errors.

    Returns
    -------
    callable
        It returns `shift_x` and `shift_w`, in bits; a `FormatError` if an operand has several scales.
    """

    def derive(tensors: Sequence[Tensor], attributes: Mapping[str, Any]) -> dict[str, Value]:
        shift_x, shift_w = _grid(op, tensors)[1]
        return {"shift_x": shift_x, "shift_w": shift_w}

    return derive


def _grid(op: str, tensors: Sequence[Tensor]) -> tuple[Scale, tuple[int, ...]]:
    x, w = tensors[0].scale, tensors[1].scale
    if x.axis is not None or w.axis is not None:
        raise FormatError(f"x and w of op `{op}` must have one scale each, because they meet on one grid")
    return align(op, (x, w))


def aligned_inference(term: Term, tensors: Sequence[Tensor], attributes: Mapping[str, Any], sums: Sums) -> Inference:
    """Return what a product of `term` proves.

    Parameters
    ----------
    term : Term
        The kind of term.
    tensors : sequence of Tensor
        (x, w) or (x, w, bias).
    attributes : mapping
        `shift_x` and `shift_w` in bits; for a convolution `pads`.
    sums : Sums
        The sums of the product.

    Returns
    -------
    Inference
        The result on the finer grid; the words of aligned operands, of the term and `acc`.

    Raises
    ------
    FormatError
        If an operand has several scales, or shifts or bias do not suit the scales.
    """
    x, w, bias = unpacked(tensors)
    scale, needed = _grid(sums.op, tensors)
    shifts = attributes["shift_x"], attributes["shift_w"]
    check_shifts(sums.op, ("shift_x", "shift_w"), shifts, needed)
    start = bias_codes(w, bias, scale, sums)

    def found(operands: Operands) -> tuple[Bounds]:
        _, exact = operands.exact(*shifts, product=False)
        return (Bounds.of_terms(*term.bounds(exact, *shifts), exact.taps).in_ints(),)

    bounds = over_windows(found, sums.operands, sums.windows)[0].started_with(start)
    ends = [(t.range.low << s, t.range.high << s) for t, s in zip((x, w), shifts, strict=True)]
    if any(attributes.get("pads", ())):
        ends[0] = min(ends[0][0], 0), max(ends[0][1], 0)
    words = {
        f"aligned_{name}": Format.of_range(*ends[k], f"the aligned {name}") for k, name in enumerate("xw") if shifts[k]
    }
    words |= term.words(*ends)
    words["acc"] = Format.of_range(*bounds.partial, "the accumulator")
    range_ = bounds.range(sums.axis)
    return Inference((result(sums.shape, range_, scale, f"the result of {sums.op}"),), words, sums.tight)


def aligned_term(term: Term, x: np.ndarray, w: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray:
    """Return one term of codes x and w (Python ints), from the definition.

    Parameters
    ----------
    term : Term
        The kind of term.
    x, w : object arrays that broadcast
        Codes, Python ints.
    attributes : mapping
        `shift_x` and `shift_w`, in bits.

    Returns
    -------
    object array
        Codes on the finer grid.
    """
    return term.value(x * 2 ** attributes["shift_x"], w * 2 ** attributes["shift_w"])


def aligned_count(term: Term, node: Node, inputs: Sequence[Tensor], terms: int, sums: int) -> list[Row]:
    """Return the rows of a product with `terms` terms in all its `sums`.

    Parameters
    ----------
    term : Term
        The kind of term.
    node : Node
        With `shift_x`, `shift_w` and its words.
    inputs : sequence of Tensor
        (x, w) or (x, w, bias).
    terms : int
        Terms of one sample, over all sums.
    sums : int
        Sums of one sample.

    Returns
    -------
    list of Row
        Operations of one sample.
    """
    x, w, bias = unpacked(inputs)
    words = node.words
    bits = {name: words.get(f"aligned_{name}", t.format).bits for name, t in (("x", x), ("w", w))}
    prepared = []
    for name, tensor in (("x", x), ("w", w)):
        codes, offline = tensor.sample_size, tensor.is_constant
        shifts = codes if node.attributes[f"shift_{name}"] else 0
        prepared += [
            ("shift", (tensor.format.bits,), shifts, "", offline),
            ("abs", (bits[name],), codes if term.magnitudes else 0, "", offline),
        ]
    addend = words[term.addend].bits
    return rows(
        node,
        *prepared,
        *((primitive, widths, terms) for primitive, widths in term.count(node, (bits["x"], bits["w"]))),
        ("addsub", (words["acc"].bits, addend), terms - sums * (bias is None)),
        ("neg", (addend,), sums if bias is None else 0),
    )
