"""LayerNorm, RMSNorm and their reciprocal forms: parameters quantized on stated grids, derived integers."""

from __future__ import annotations

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError
from mfsim.formats import Scale


def channel_codes(lowering: Lowering, node: FileNode, k: int, what: str, scale: Scale) -> str:
    """Return the constant of a parameter that a Quant put on `scale`."""
    grid = lowering.grid(node, k, what)
    if grid.scale != scale:
        raise FormatError(f"{what} must be quantized on the scale {scale}, not {grid.scale}")
    return lowering.constant(node.inputs[k], grid.codes, scale, grid.format)


def _power_of_two(lowering: Lowering, node: FileNode, k: int, what: str) -> int:
    value = stated.integer(lowering, node, k, what)
    if value < 1 or value & (value - 1):
        raise FormatError(f"{what} must be a power of two, not {value}")
    return value.bit_length() - 1


def _root_norm(lowering: Lowering, node: FileNode, op: str, centred: bool, reciprocal: bool) -> None:
    x = stated.scaled_input(lowering, node)
    gamma_scale = stated.scale(lowering, node, 3, "the scale of gamma")
    inputs = [x.name, channel_codes(lowering, node, 2, "gamma", gamma_scale)]
    next_, last = (5 if centred else 4), len(node.inputs) - 1
    fraction = -stated.power(lowering, node, last, "the scale of the result")
    if centred:
        inputs.append(channel_codes(lowering, node, 4, "beta", Scale.of(-fraction)))
    attributes = {
        "fraction": fraction,
        "eps": stated.integer(lowering, node, next_, "eps"),
        "guard": _power_of_two(lowering, node, next_ + 1, "the guard"),
    }
    if reciprocal:
        attributes["reciprocal"] = _power_of_two(lowering, node, next_ + 2, "the dividend of the reciprocal")
    lowering.emit(node, op, inputs, attributes)


def layer_norm(lowering: Lowering, node: FileNode) -> None:
    """Emit layer_norm."""
    _root_norm(lowering, node, "layer_norm", centred=True, reciprocal=False)


def layer_norm_recip(lowering: Lowering, node: FileNode) -> None:
    """Emit layer_norm_recip."""
    _root_norm(lowering, node, "layer_norm_recip", centred=True, reciprocal=True)


def rms_norm(lowering: Lowering, node: FileNode) -> None:
    """Emit rms_norm."""
    _root_norm(lowering, node, "rms_norm", centred=False, reciprocal=False)


def rms_norm_recip(lowering: Lowering, node: FileNode) -> None:
    """Emit rms_norm_recip."""
    _root_norm(lowering, node, "rms_norm_recip", centred=False, reciprocal=True)


RULES = {
    ("org.mfsim", "LayerNorm"): layer_norm,
    ("org.mfsim", "LayerNormRecip"): layer_norm_recip,
    ("org.mfsim", "RMSNorm"): rms_norm,
    ("org.mfsim", "RMSNormRecip"): rms_norm_recip,
}
