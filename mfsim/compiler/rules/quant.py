"""Quant, BipolarQuant and Trunc of QONNX: requantize, or nothing where a graph input is fed with its codes."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import parts_of, scale_of
from mfsim.compiler.lowering import QUANT_OPS, Lowering
from mfsim.compiler.quantizer import ROUNDINGS, word_length
from mfsim.compiler.requantizing import requantized, rescaled
from mfsim.errors import FormatError, ModelError, UnsupportedOpError
from mfsim.formats import Format, Scale

DOMAIN = "qonnx.custom_op.general"
TRUNC_BITS = range(1, 64)


def quant(lowering: Lowering, node: FileNode) -> None:
    """Bring the codes of the input onto the scale of the quantizer, round and saturate."""
    if node in lowering.input_quants:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    quantizer = lowering.quantizer(node)
    requantized(lowering, node, lowering.tensor(node, 0), quantizer, node.outputs[0])


def bipolar(lowering: Lowering, node: FileNode) -> None:
    """Take the sign, +1 for zero, on the scale of the quantizer."""
    if node in lowering.input_quants:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    x, scale = lowering.tensor(node, 0), _scale(lowering, node)
    signs = lowering.inner(node, "sign", [x.name], {"sign_zero": 1})
    lowering.relabelled(node, signs, scale, node.outputs[0])


def trunc(lowering: Lowering, node: FileNode) -> None:
    """Drop low bits: of version 1 (bit widths in and out; the scale stays) or 2 (with the scale of the result)."""
    if len(node.inputs) not in (5, 6):
        raise ModelError(f"Trunc must have 5 or 6 inputs, not {len(node.inputs)}")
    x, scale = lowering.tensor(node, 0), _scale(lowering, node)
    if lowering.array(node, 2, "the zero point").any():
        raise UnsupportedOpError("the zero point of Trunc must be 0; quantize symmetrically")
    mode = node.text("rounding_mode", "FLOOR").upper()
    if mode not in ROUNDINGS:
        raise FormatError(f"`rounding_mode` must be one of {', '.join(ROUNDINGS)}, not {mode!r}")
    bits = [word_length(lowering.array(node, k, "the bit width"), TRUNC_BITS) for k in (3, len(node.inputs) - 1)]
    if x.scale != scale:
        x = lowering.builder.tensors[rescaled(lowering, node, x, scale)]
    if len(node.inputs) == 5:
        coarse = scale.moved(bits[0] - bits[1])
        kept = rescaled(lowering, node, x, coarse, None, ROUNDINGS[mode])
        lowering.relabelled(node, kept, scale, node.outputs[0])
        return
    word = Format(bits[1], bool(node.integer("signed", 1)))
    narrow = int(bool(node.integer("narrow", 0)) and word.signed)
    coarse = scale_of(*parts_of(lowering.array(node, 4, "the scale of the result"), "the scale of the result"))
    rescaled(lowering, node, x, coarse, word, ROUNDINGS[mode], node.outputs[0], narrow)


def _scale(lowering: Lowering, node: FileNode) -> Scale:
    """Return the scale of input 1: one number."""
    scale = lowering.array(node, 1, "the scale")
    if scale.size != 1:
        raise UnsupportedOpError(f"the scale must be one number, not of the shape {scale.shape}")
    return scale_of(*parts_of(scale.reshape(()), "the scale"))


RULES = {(DOMAIN, op): quant for op in QUANT_OPS}
FOREIGN_RULES = {(DOMAIN, "BipolarQuant"): bipolar, (DOMAIN, "Trunc"): trunc}
