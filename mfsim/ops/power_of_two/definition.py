"""What the products with power-of-two weights share: the check of the weights, words, counts.

A weight is 0 or +2**k or -2**k, so a product with it is a shift by k places and a sign. The weights are
constants whose codes are these numbers; a device stores the sign and k. Every term is executed alike, those
of weight 0 or of k = 0 too: one shift and one addition whose mode is the weight's sign.

Sources: Elhoushi et al., "DeepShift: Towards Multiplication-Less Neural Networks", 2019 (arXiv
1905.13298); You et al., "ShiftAddNet", NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ir.program import Node, Tensor
from mfsim.ops.op import Inference, Row, rows
from mfsim.ops.products import Sums, dense_inference, unpacked

SHIFT_HELD = {"shift_sums.shift_left": "shifted", "shift_sums.total": "acc"}
"""Which word holds which value."""


def check_powers(op: str, w: Tensor) -> None:
    """Raise `FormatError` unless w is a constant of codes that are 0 or powers of two with a sign.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    w : Tensor
        The weights.

    Raises
    ------
    FormatError
        If w is not constant, or a code is neither 0 nor a power of two with a sign.
    """
    if w.codes is None:
        raise FormatError(f"w of op `{op}` must be a constant")
    magnitudes = np.abs(w.codes)
    wrong = w.codes[(magnitudes & (magnitudes - 1)) != 0]
    if wrong.size:
        raise FormatError(f"every weight of op `{op}` must be 0 or a power of two with a sign, not {int(wrong[0])}")


def shift_inference(tensors: Sequence[Tensor], sums: Sums) -> Inference:
    """Return what a product with power-of-two weights proves: the words and bounds of the dense product.

    Parameters
    ----------
    tensors : sequence of Tensor
        (x, w) or (x, w, bias).
    sums : Sums
        The sums of the product.

    Returns
    -------
    Inference
        The result on the product of both scales; the words `shifted` and `acc`.

    Raises
    ------
    FormatError
        If w has other codes than powers of two, or the bias does not suit it.
    """
    x, w, bias = unpacked(tensors)
    check_powers(sums.op, w)
    proved = dense_inference(x, w, bias, sums)
    places = max(w.range.bound, 1).bit_length() - 1
    lo, hi = min(x.range.low, 0), max(x.range.high, 0)
    words = {"shifted": Format.of_range(lo << places, hi << places, "a shifted operand"), "acc": proved.words["acc"]}
    return replace(proved, words=words)


def shift_count(node: Node, inputs: Sequence[Tensor], terms: int, sums: int) -> list[Row]:
    """Return the rows of a product with power-of-two weights, with `terms` terms in all its `sums`.

    The second width of a shift is that of its distance, which a weight holds.

    Parameters
    ----------
    node : Node
        With the words `shifted` and `acc`.
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
    shifted = node.words["shifted"].bits
    places = max(w.range.bound, 1).bit_length() - 1
    return rows(
        node,
        ("shift", (x.format.bits, max(places.bit_length(), 1)), terms),
        ("addsub", (node.words["acc"].bits, shifted), terms - sums * (bias is None)),
        ("neg", (shifted,), sums if bias is None else 0),
    )
