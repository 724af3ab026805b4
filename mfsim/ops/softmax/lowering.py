"""Compiler rules of softmax and tanh-l1."""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import mask_input, scaled_input, stated_integer, stated_power, stated_table
from mfsim.ir.formats import Scale

# Softmax in its four forms, with or without a mask: tables and thresholds are derived integers.


def _softmax(
    lowering: Lowering,
    node: FileNode,
    op: str,
    tables: Sequence[str] = (),
    power: tuple[str, str] | None = None,
) -> None:
    """Emit `op`: x, its scale, the table of exp, more tables, perhaps a power of two, the scale of y.

    `power` is the attribute that takes the exponent, and what an error calls the power.
    """
    x = scaled_input(lowering, node)
    codes = stated_table(lowering, node, 2, "the table of exp")
    unit = _unit_of(int(codes[0]) if codes.size else 1)
    inputs = [x.name, lowering.constant(node.inputs[2], codes, unit)]
    for k, what in enumerate(tables, start=3):
        inputs.append(lowering.constant(node.inputs[k], stated_table(lowering, node, k, what), Scale()))
    last = 3 + len(tables) + (power is not None)
    attributes = {"fraction": -stated_power(lowering, node, last, "the scale of the result")}
    if power is not None:
        attributes[power[0]] = stated_power(lowering, node, last - 1, power[1])
    if len(node.inputs) > last + 1:
        inputs.append(mask_input(lowering, node, last + 1, x))
    lowering.emit(node, op, inputs, attributes)


def _unit_of(one: int) -> Scale:
    """Return the grid of terms and sums where the code `one` stands for 1."""
    return Scale.of(1 - max(1, one.bit_length()))


def softmax(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax.

    Parameters
    ----------
    lowering : Lowering
        What the nodes of the program are emitted to.
    node : FileNode
        A `Softmax` or `MaskedSoftmax` of `org.mfsim`.

    Raises
    ------
    FormatError
        If its table, its scales or its mask are not those of the op.
    ShapeError
        If its mask does not suit x.
    """
    _softmax(lowering, node, "softmax")


def _softmax_recip(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax_recip."""
    _softmax(lowering, node, "softmax_recip", power=("reciprocal", "the dividend of the reciprocal"))


def _softmax_shift(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax_shift."""
    _softmax(lowering, node, "softmax_shift", ["the thresholds"])


def _softmax_log(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax_log."""
    names = ("the thresholds", "the table of ln 2^j", "the table of ln(1 + u)", "the table of results")
    _softmax(lowering, node, "softmax_log", names, ("fine_bits", "the fine factor"))


SOFTMAX_RULES = {
    ("org.mfsim", f"{masked}{name}"): rule
    for name, rule in {
        "Softmax": softmax,
        "SoftmaxRecip": _softmax_recip,
        "SoftmaxShift": _softmax_shift,
        "SoftmaxLog": _softmax_log,
    }.items()
    for masked in ("", "Masked")
}


# TanhL1 and TanhL1Shift, with or without a mask: table, eps and thresholds are derived integers.


def _tanh_l1(lowering: Lowering, node: FileNode, op: str, shift: bool) -> None:
    x = scaled_input(lowering, node)
    codes = stated_table(lowering, node, 2, "the table of tanh")
    inputs = [x.name, lowering.constant(node.inputs[2], codes, Scale())]
    attributes = {"eps": stated_integer(lowering, node, 3, "eps")}
    if shift:
        inputs.append(lowering.constant(node.inputs[4], stated_table(lowering, node, 4, "the thresholds"), Scale()))
    last = 4 + shift
    attributes["fraction"] = -stated_power(lowering, node, last, "the scale of the result")
    if len(node.inputs) > last + 1:
        inputs.append(mask_input(lowering, node, last + 1, x))
    lowering.emit(node, op, inputs, attributes)


def tanh_l1(lowering: Lowering, node: FileNode) -> None:
    """Emit tanh_l1.

    Parameters
    ----------
    lowering : Lowering
        What the nodes of the program are emitted to.
    node : FileNode
        A `TanhL1` or `MaskedTanhL1` of `org.mfsim`.

    Raises
    ------
    FormatError
        If its table, its scales or its mask are not those of the op.
    ShapeError
        If its mask does not suit x.
    """
    _tanh_l1(lowering, node, "tanh_l1", shift=False)


def _tanh_l1_shift(lowering: Lowering, node: FileNode) -> None:
    """Emit tanh_l1_shift."""
    _tanh_l1(lowering, node, "tanh_l1_shift", shift=True)


TANH_L1_RULES = {
    ("org.mfsim", f"{masked}{name}"): rule
    for name, rule in {"TanhL1": tanh_l1, "TanhL1Shift": _tanh_l1_shift}.items()
    for masked in ("", "Masked")
}

RULES = SOFTMAX_RULES | TANH_L1_RULES
