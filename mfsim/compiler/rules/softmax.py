"""Softmax in its four forms, with or without a mask: tables and thresholds are derived integers."""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.masks import mask_input
from mfsim.formats import Scale


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
    x = stated.scaled_input(lowering, node)
    codes = stated.table(lowering, node, 2, "the table of exp")
    unit = unit_of(int(codes[0]) if codes.size else 1)
    inputs = [x.name, lowering.constant(node.inputs[2], codes, unit)]
    for k, what in enumerate(tables, start=3):
        inputs.append(lowering.constant(node.inputs[k], stated.table(lowering, node, k, what), Scale()))
    last = 3 + len(tables) + (power is not None)
    attributes = {"fraction": -stated.power(lowering, node, last, "the scale of the result")}
    if power is not None:
        attributes[power[0]] = stated.power(lowering, node, last - 1, power[1])
    if len(node.inputs) > last + 1:
        inputs.append(mask_input(lowering, node, last + 1, x))
    lowering.emit(node, op, inputs, attributes)


def unit_of(one: int) -> Scale:
    """Return the grid of terms and sums where the code `one` stands for 1."""
    return Scale.of(1 - max(1, one.bit_length()))


def softmax(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax."""
    _softmax(lowering, node, "softmax")


def softmax_recip(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax_recip."""
    _softmax(lowering, node, "softmax_recip", power=("reciprocal", "the dividend of the reciprocal"))


def softmax_shift(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax_shift."""
    _softmax(lowering, node, "softmax_shift", ["the thresholds"])


def softmax_log(lowering: Lowering, node: FileNode) -> None:
    """Emit softmax_log."""
    names = ("the thresholds", "the table of ln 2^j", "the table of ln(1 + u)", "the table of results")
    _softmax(lowering, node, "softmax_log", names, ("fine_bits", "the fine factor"))


RULES = {
    ("org.mfsim", f"{masked}{name}"): rule
    for name, rule in {
        "Softmax": softmax,
        "SoftmaxRecip": softmax_recip,
        "SoftmaxShift": softmax_shift,
        "SoftmaxLog": softmax_log,
    }.items()
    for masked in ("", "Masked")
}
