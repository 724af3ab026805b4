"""Which parts a node has on arrays: products with constant weights, and the Walsh-Hadamard transform.

An MF product splits into two parts with one one-bit operand each, so b_x + b_w bit-plane steps make an
output where a dense product takes b_x * b_w:

    sign(x) * w    the signs of x are driven, w is stored       b_w planes side by side
    sign(w) * x    x is driven plane by plane, signs are stored b_x planes after each other

In the form `abs` the words are the magnitudes of w and x. What the grid of the product is does not
matter here: the parts stay on their own grids and a shift and an addition join them.

A transform of length n on an array that holds H_m: H_n = H_(n/m) (x) H_m, so every block of m codes is
one input of the stored matrix, and log2(n/m) butterfly stages behind it are additions in digital logic.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mfsim import ops
from mfsim.cim.array import CimArray
from mfsim.cim.digits import Digits, sign_digits, signs_in, word_digits
from mfsim.cim.parts import Outside, Part, Product, place
from mfsim.ir.formats import Format
from mfsim.ir.program import Node, Program, Tensor
from mfsim.ops.bounds import spread
from mfsim.ops.traits import Trait
from mfsim.ops.wht.wht import OP as WHT
from mfsim.ops.wht.wht import block_length

Placed = tuple[list[Part], list[Outside]]


def why_digital(node: Node, program: Program, array: CimArray) -> str:
    """Return why `node` stays in digital logic; empty for one that goes onto arrays.

    Parameters
    ----------
    node : Node
        A node of `program`.
    program : Program
        The integer program.
    array : CimArray
        The array that the products would go onto.

    Returns
    -------
    str
        The reason in words, or "".
    """
    if node.op == WHT.name:
        if all(n == 1 for _, n in _lengths(node, program)):
            return "a transform of length 1"
        return "" if array.stores == "wht" else "the array stores weights, not the transform"
    traits = ops.get(node.op).traits
    if Trait.PRODUCT not in traits:
        return "no product with stored weights"
    if not traits & {Trait.MF_TERMS, Trait.MULTIPLY_ACCUMULATE}:
        return "its terms have no mapping onto cells here"
    if not program.tensors[node.inputs[1]].is_constant:
        return "both operands are activations, and cells hold constants"
    return "" if array.stores == "weights" else "the array stores the transform, no weights"


def place_node(node: Node, program: Program, array: CimArray) -> Placed:
    """Return the parts of a node that `why_digital` does not refuse, and the operations behind them.

    Parameters
    ----------
    node : Node
        A node for which `why_digital` is empty.
    program : Program
        The integer program.
    array : CimArray
        The array that the node goes onto.

    Returns
    -------
    tuple of (list of Part, list of Outside)
        What the arrays do for one sample, and the digital operations behind them.
    """
    if node.op == WHT.name:
        return _transform(node, program, array)
    if node.op in ops.named(Trait.MF_TERMS):
        return _mf(node, program, array)
    return place_dense(node, program, array)


def place_dense(node: Node, program: Program, array: CimArray) -> Placed:
    """Return the part of a dense product, or of an MF product as if it were dense.

    Parameters
    ----------
    node : Node
        A node whose first two inputs are x and constant weights w, with an optional bias.
    program : Program
        The integer program.
    array : CimArray
        The array that the product goes onto.

    Returns
    -------
    tuple of (list of Part, list of Outside)
        The one part, for one sample, and the digital operations behind it.
    """
    x, w, *bias = program.inputs_of(node)
    driven = word_digits(x.format, array.input_bits, array.lines == "signed")
    stored = word_digits(w.format, array.cell_bits)
    part, behind = place(_where(node), "x * w", _product(node, x, w, program), driven, stored, array)
    return [part], behind + _bias(node, program, bias)


def _mf(node: Node, program: Program, array: CimArray) -> Placed:
    x, w, *bias = program.inputs_of(node)
    attributes: Any = node.attributes
    signed_lines = array.lines == "signed"
    zero, magnitude = attributes["sign_zero"], attributes["form"] == "abs"
    product = _product(node, x, w, program)
    x_signs = signs_in(x.range.low, x.range.high, zero) | (signs_in(0, 0, zero) if _padded(node) else set())
    assert w.codes is not None, "`why_digital` refuses dynamic weights"
    w_signs = {int(sign) or zero for sign in np.unique(np.sign(w.codes))}
    names = ("sign(x) * |w|", "sign(w) * |x|") if magnitude else ("sign(x) * w", "sign(w) * x")
    word_x, word_w = (_magnitude(tensor) if magnitude else tensor.format for tensor in (x, w))
    pairs: list[tuple[Digits, Digits]] = [
        (sign_digits(x_signs, signed_lines), word_digits(word_w, array.cell_bits)),
        (word_digits(word_x, array.input_bits, signed_lines), sign_digits(w_signs)),
    ]
    parts, behind = [], _prepared(node, program)
    for name, (driven, stored) in zip(names, pairs, strict=True):
        part, more = place(_where(node), name, product, driven, stored, array)
        parts.append(part)
        behind += more
    return parts, behind + _join(node, program) + _bias(node, program, bias)


def _magnitude(tensor: Tensor) -> Format:
    return Format.of_range(0, tensor.range.bound)


def _padded(node: Node) -> bool:
    pads: Any = node.attributes.get("pads", ())
    return any(pads)


def _prepared(node: Node, program: Program) -> list[Outside]:
    """Return the signs and magnitudes of x, which are made once for each code; those of w are made offline."""
    rows = ops.get(node.op).count(node, program.inputs_of(node), program.outputs_of(node))
    return [
        Outside(node.layer, node.name, "", "signs and magnitudes", row.primitive, max(row.widths), row.count)
        for row in rows
        if row.primitive in ("sign", "abs") and not row.offline
    ]


def _join(node: Node, program: Program) -> list[Outside]:
    """Return the addition that joins the two parts of each output, and the shifts where their grids differ."""
    (y,), attributes = program.outputs_of(node), node.attributes
    channels = program.tensors[node.inputs[1]].shape[0 if node.op in ops.named(Trait.CONVOLUTION) else 1]
    each = y.sample_size // channels
    shifts: Any = [attributes["shift_x"], attributes["shift_w"]]
    shifted = each * sum(s > 0 for given in shifts for s in spread(given, channels))
    found = [
        Outside(node.layer, node.name, "", "join of the parts", "shift", y.format.bits, shifted),
        Outside(node.layer, node.name, "", "join of the parts", "addsub", y.format.bits, y.sample_size),
    ]
    return [row for row in found if row.count]


def _bias(node: Node, program: Program, bias: list[Tensor]) -> list[Outside]:
    (y,) = program.outputs_of(node)
    return [Outside(node.layer, node.name, "", "bias", "addsub", y.format.bits, y.sample_size)] if bias else []


def _product(node: Node, x: Tensor, w: Tensor, program: Program) -> Product:
    (y,) = program.outputs_of(node)
    if node.op in ops.named(Trait.CONVOLUTION):
        outputs, *taps = w.shape
        groups: Any = node.attributes["groups"]
        return Product(y.sample_size // outputs, int(np.prod(taps)), outputs // groups, groups)
    terms, outputs = w.shape
    return Product(x.sample_size // terms, terms, outputs)


def _lengths(node: Node, program: Program) -> list[tuple[int, int]]:
    """Return (axis, length of its transform) for each axis of a transform, in order of execution."""
    (x,) = program.inputs_of(node)
    attributes: Any = node.attributes
    axes = range(len(x.shape) - 1, len(x.shape) - 1 - attributes["dims"], -1)
    return [(axis, block_length(x.shape[axis], attributes["block"])) for axis in axes]


def _transform(node: Node, program: Program, array: CimArray) -> Placed:
    (x,) = program.inputs_of(node)
    parts, behind = [], []
    most = 1 << (min(array.terms, array.sums).bit_length() - 1)
    low, high = x.format.lo, x.format.hi
    for axis, n in _lengths(node, program):
        if n == 1:
            continue
        m = min(n, most)
        name = f"transform along axis {axis}"
        product = Product(x.sample_size // m, m, m)
        part, more = place(_where(node), name, product, _driven(low, high, array), Digits(1, signed=True), array)
        parts.append(part)
        behind += more
        for stage in range(m.bit_length() - 1, n.bit_length() - 1):
            bits = Format.of_range(*_sums(low, high, 1 << stage)).bits
            behind.append(Outside(node.layer, node.name, name, "butterflies", "addsub", bits, x.sample_size))
        low, high = _sums(low, high, n)
    return parts, behind


def _driven(low: int, high: int, array: CimArray) -> Digits:
    """Return the digits of codes in low..high; lines with signs take those of the magnitude."""
    if array.lines == "signed" and low < 0:
        return replace(word_digits(Format.of_range(0, max(-low, high)), array.input_bits), signed=True)
    return word_digits(Format.of_range(low, high), array.input_bits)


def _sums(low: int, high: int, n: int) -> tuple[int, int]:
    """Return the range of a transform of n codes in low..high: one row adds all, the others subtract one half."""
    half = n // 2 * (high - low)
    return min(n * low, -half), max(n * high, half)


def _where(node: Node) -> tuple[str, str, str]:
    return node.layer, node.name, node.op
