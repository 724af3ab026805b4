"""Compiler rules of the norms."""

from __future__ import annotations

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import (
    channel_codes,
    scaled_input,
    stated_integer,
    stated_power,
    stated_scale,
    stated_table,
)
from mfsim.errors import FormatError
from mfsim.ir.formats import Scale
from mfsim.ops.norm.tables import GAIN_PLACES

# LayerNorm, RMSNorm and their reciprocal forms: parameters quantized on stated grids, derived integers.


def _power_of_two(lowering: Lowering, node: FileNode, k: int, what: str) -> int:
    value = stated_integer(lowering, node, k, what)
    if value < 1 or value & (value - 1):
        raise FormatError(f"{what} must be a power of two, not {value}")
    return value.bit_length() - 1


def _root_norm(lowering: Lowering, node: FileNode, op: str, centred: bool, reciprocal: bool) -> None:
    x = scaled_input(lowering, node)
    gamma_scale = stated_scale(lowering, node, 3, "the scale of gamma")
    inputs = [x.name, channel_codes(lowering, node, 2, "gamma", gamma_scale)]
    next_, last = (5 if centred else 4), len(node.inputs) - 1
    fraction = -stated_power(lowering, node, last, "the scale of the result")
    if centred:
        inputs.append(channel_codes(lowering, node, 4, "beta", Scale.of(-fraction)))
    attributes = {
        "fraction": fraction,
        "eps": stated_integer(lowering, node, next_, "eps"),
        "guard": _power_of_two(lowering, node, next_ + 1, "the guard"),
    }
    if reciprocal:
        attributes["reciprocal"] = _power_of_two(lowering, node, next_ + 2, "the dividend of the reciprocal")
    lowering.emit(node, op, inputs, attributes)


def _layer_norm(lowering: Lowering, node: FileNode) -> None:
    """Emit layer_norm."""
    _root_norm(lowering, node, "layer_norm", centred=True, reciprocal=False)


def _layer_norm_recip(lowering: Lowering, node: FileNode) -> None:
    """Emit layer_norm_recip."""
    _root_norm(lowering, node, "layer_norm_recip", centred=True, reciprocal=True)


def _rms_norm(lowering: Lowering, node: FileNode) -> None:
    """Emit rms_norm."""
    _root_norm(lowering, node, "rms_norm", centred=False, reciprocal=False)


def _rms_norm_recip(lowering: Lowering, node: FileNode) -> None:
    """Emit rms_norm_recip."""
    _root_norm(lowering, node, "rms_norm_recip", centred=False, reciprocal=True)


ROOT_NORMS_RULES = {
    ("org.mfsim", "LayerNorm"): _layer_norm,
    ("org.mfsim", "LayerNormRecip"): _layer_norm_recip,
    ("org.mfsim", "RMSNorm"): _rms_norm,
    ("org.mfsim", "RMSNormRecip"): _rms_norm_recip,
}


# ShiftNormL1, ShiftNormL2: gains that are powers of two, beta quantized on the grid of the result.


def _shift_norm(lowering: Lowering, node: FileNode, op: str) -> None:
    x = scaled_input(lowering, node)
    gains = [int(gain) for gain in stated_table(lowering, node, 2, "the gain")]
    wrong = [gain for gain in gains if gain < 1 or gain & (gain - 1)]
    if wrong:
        raise FormatError(f"the gain must hold powers of two, not {wrong[0]}")
    fraction = -stated_power(lowering, node, 5, "the scale of the result")
    steps = lowering.constant(node.inputs[4], stated_table(lowering, node, 4, "the thresholds"), Scale())
    beta = channel_codes(lowering, node, 3, "beta", Scale.of(-fraction))
    exponents = tuple(gain.bit_length() - 1 - GAIN_PLACES for gain in gains)
    lowering.emit(node, op, [x.name, steps, beta], {"fraction": fraction, "exponents": exponents})


def _shift_norm_l1(lowering: Lowering, node: FileNode) -> None:
    """Emit shift_norm_l1."""
    _shift_norm(lowering, node, "shift_norm_l1")


def _shift_norm_l2(lowering: Lowering, node: FileNode) -> None:
    """Emit shift_norm_l2."""
    _shift_norm(lowering, node, "shift_norm_l2")


SHIFT_NORMS_RULES = {("org.mfsim", "ShiftNormL1"): _shift_norm_l1, ("org.mfsim", "ShiftNormL2"): _shift_norm_l2}

RULES = ROOT_NORMS_RULES | SHIFT_NORMS_RULES
