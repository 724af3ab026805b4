"""Compiler rules of the ops that change a grid."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.frontend.quantizer import ROUNDINGS, word_length
from mfsim.compiler.frontend.third_party import affine_of
from mfsim.compiler.lower.grid import exponents_of, fractions, int64, parts_of, scale_of
from mfsim.compiler.lower.lowering import QUANT_OPS, Lowering
from mfsim.compiler.lower.operands import along_axis
from mfsim.compiler.lower.requantizing import requantized, rescaled
from mfsim.compiler.lower.rescaling import change_scale, gained, with_offset
from mfsim.errors import FormatError, ModelError, ShapeError, UnsupportedOpError
from mfsim.ir.formats import MAX_BITS, Format, Scale

# Quant, BipolarQuant and Trunc of QONNX: requantize, or nothing where a graph input is fed with its codes.

DOMAIN = "qonnx.custom_op.general"

TRUNC_BITS = range(1, 64)


def quant(lowering: Lowering, node: FileNode) -> None:
    """Bring the codes of the input onto the scale of the quantizer, round and saturate.

    Parameters
    ----------
    lowering : Lowering
        What the nodes of the program are emitted to.
    node : FileNode
        A `Quant` of QONNX.

    Raises
    ------
    FormatError
        If the quantizer is not one that the program can hold.
    """
    if node in lowering.input_quants:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    quantizer = lowering.quantizer(node)
    requantized(lowering, node, lowering.tensor(node, 0), quantizer, node.outputs[0])


def _bipolar(lowering: Lowering, node: FileNode) -> None:
    """Take the sign, +1 for zero, on the scale of the quantizer."""
    if node in lowering.input_quants:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    x, scale = lowering.tensor(node, 0), _scale(lowering, node)
    signs = lowering.inner(node, "sign", [x.name], {"sign_zero": 1})
    lowering.relabelled(node, signs, scale, node.outputs[0])


def _trunc(lowering: Lowering, node: FileNode) -> None:
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


QUANT_RULES = {(DOMAIN, op): quant for op in QUANT_OPS}

QUANT_THIRD_PARTY_RULES = {(DOMAIN, "BipolarQuant"): _bipolar, (DOMAIN, "Trunc"): _trunc}

# Accumulator: a word for a sum, on the grid that the sum has.

BITS = range(2, MAX_BITS + 1)


def _accumulator(lowering: Lowering, node: FileNode) -> None:
    """Emit accumulator; its scale must be that of what it holds."""
    x = lowering.tensor(node, 0)
    scale, bit_width = lowering.array(node, 1, "the scale"), lowering.array(node, 2, "the bit width")
    gain, axis = along_axis(scale, x.shape, "the scale")
    exponents = tuple(int(e) for e in exponents_of(gain, "the scale"))
    stated = Scale(exponents, None if axis < 0 else axis)
    if stated != x.scale:
        raise FormatError(f"the scale must be that of the sum, {x.scale}, not {stated}")
    attributes = {name: node.attributes[name] for name in ("signed", "overflow") if name in node.attributes}
    lowering.emit(node, "accumulator", [x.name], attributes | {"bits": word_length(bit_width, BITS)})


ACCUMULATOR_RULES = {("org.mfsim", "Accumulator"): _accumulator}

# Shift, and Div (for mul.py also Mul) by constants: a change of scale, nothing is computed.
#
# In the dialect the constants are positive powers of two; in third-party files any numbers but 0.


SHIFT_RULES = {("org.mfsim", "Shift"): change_scale, ("", "Div"): change_scale}


# CsdGain: constants are exact numbers, each on the coarsest power-of-two grid that holds it and its neighbours.


def _csd_gain(lowering: Lowering, node: FileNode) -> None:
    """Emit csd_gain with the codes of the constants; the op refuses those with too many digits."""
    x = lowering.tensor(node, 0)
    values, axis = along_axis(lowering.array(node, 1, "the gain"), x.shape, "the gain")
    exact = fractions(values)
    finest = max(value.denominator.bit_length() - 1 for value in exact)
    codes = int64(np.array([int(value * 2**finest) for value in exact], dtype=object))
    places = min((int(code & -code).bit_length() - 1 for code in codes if code), default=0)
    c = lowering.constant(node.inputs[1], codes >> places, Scale.of(places - finest))
    lowering.emit(node, "csd_gain", [x.name, c], {"digits": node.integer("digits", 1), "axis": axis})


CSD_GAIN_RULES = {("org.mfsim", "CsdGain"): _csd_gain}


# BatchNormalization: a gain for each channel, which relabels the grid, and an offset.


def _batch_norm(lowering: Lowering, node: FileNode) -> None:
    """Multiply and add along axis 1, with the statistics that the file holds."""
    if node.integer("training_mode", 0):
        raise UnsupportedOpError("`training_mode` must be 0; export the model in eval mode")
    x = lowering.tensor(node, 0)
    names = ("the scale", "the bias", "the mean", "the variance")
    parameters = [lowering.array(node, k + 1, what).reshape(-1) for k, what in enumerate(names)]
    gain, offset = affine_of(parameters, node.number("epsilon", 1e-5))
    if len(x.shape) < 2 or gain.size != x.shape[1]:
        raise ShapeError(f"there must be one gain for each of the channels of {x.shape}, not {gain.size}")
    x = gained(lowering, node, 0, x, gain, 1, None)
    with_offset(lowering, node, x, offset.reshape(-1, *[1] * (len(x.shape) - 2)), "the offset")


BATCH_NORM_THIRD_PARTY_RULES = {("", "BatchNormalization"): _batch_norm}

RULES = QUANT_RULES | ACCUMULATOR_RULES | SHIFT_RULES | CSD_GAIN_RULES

THIRD_PARTY_RULES = QUANT_THIRD_PARTY_RULES | BATCH_NORM_THIRD_PARTY_RULES
