"""Quant: requantize, or nothing where a graph input is fed with its codes."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import QUANT_OPS, Lowering
from mfsim.errors import FormatError


def quant(lowering: Lowering, node: FileNode) -> None:
    """Shift the codes of the input onto the scale of the quantizer, round and saturate."""
    if node in lowering.input_quants:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    quantizer = lowering.quantizer(node)
    x = lowering.tensor(node, 0)
    scale = quantizer.scale_for(x.shape)
    axis = scale.axis if scale.axis is not None else x.scale.axis
    if None not in (scale.axis, x.scale.axis) and scale.axis != x.scale.axis:
        raise FormatError(f"a scale along axis {x.scale.axis} cannot be requantized to one along axis {scale.axis}")
    size = 1 if axis is None else x.shape[axis]
    attributes = {
        "shift": tuple(to - at for to, at in zip(scale.along(size), x.scale.along(size), strict=True)),
        "axis": -1 if axis is None else axis,
        "bits": quantizer.format.bits,
        "signed": int(quantizer.format.signed),
        "narrow": int(quantizer.narrow and quantizer.format.signed),
        "rounding": quantizer.rounding,
    }
    if quantizer.narrow and not quantizer.format.signed:
        fitted = lowering.inner(node, "requantize", [x.name], attributes)
        lowering.emit(node, "clip", [fitted], {"lo": 0, "hi": quantizer.limits[1]})
    else:
        lowering.emit(node, "requantize", [x.name], attributes)


RULES = {("qonnx.custom_op.general", op): quant for op in QUANT_OPS}
