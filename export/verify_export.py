"""What torch's and Brevitas' exporters lose in silence, each turned into one sentence.

1. The graph is empty (a quantized LSTM).
2. A quantizer was decomposed: a rounding op stands in the graph (packed attention).
3. A node reads a constant that no quantizer has touched.
4. A layer or a quantizer of the network left no node of its own.
5. A number is NaN or infinite, or a scale is no power of two.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper
from torch import nn

from mfsim.errors import ExportError
from mfsim.nn import WHT, SoftThreshold
from mfsim.ops.dense.quant import QuantGram
from mfsim.ops.elementwise.quant import QuantSoftThreshold
from mfsim.ops.lookup.quant import QuantEmbedding
from mfsim.ops.wht.quant import QuantWHT
from mfsim.quant import QuantizedNetwork
from mfsim.quant.layers import (
    QuantAdderConv2d,
    QuantAdderLinear,
    QuantConv2d,
    QuantLinear,
    QuantMFConv2d,
    QuantMFLinear,
    QuantMinConv2d,
    QuantMinLinear,
    QuantShiftConv2d,
    QuantShiftLinear,
)
from mfsim.quant.nonlinear import (
    QuantDFTMagnitude,
    QuantFastDCT,
    QuantFilterbankFFT,
    QuantLayerNorm,
    QuantRMSNorm,
    QuantShiftNorm,
    QuantSoftmax,
    QuantTable,
    QuantTanhL1,
)
from mfsim.quant.pairs import QuantAdd, QuantMatMul, QuantMFMatMul, QuantMFMul, QuantMul
from mfsim.quant.structured import (
    QuantAffine,
    QuantDCT,
    QuantFilterbank,
    QuantScaling,
    QuantShiftAffine,
    QuantTriangularLinear,
)
from mfsim.quant.tokens import QuantRope, QuantTokenEmbedding

ROUNDING_OPS = ("Round", "Floor", "Ceil", "QuantizeLinear", "DynamicQuantizeLinear")

_SOFTMAXES = {"Softmax": 3, "SoftmaxRecip": 4, "SoftmaxShift": 4, "SoftmaxLog": 8}

_TANH_L1S = {"TanhL1": 4, "TanhL1Shift": 5}
"""The place of y_scale in each form, here and above; a mask may follow."""

PARAMETER_INPUTS = {
    "Quant": (0, 1, 2, 3),
    "CsdGain": (1,),
    "Shift": (1,),
    "Accumulator": (1, 2),
    "DCT": (1, 5),
    "DFTAlphaBeta": (1, 6),
    "DFTMagnitude": (1, 6),
    "Filterbank": (1, 3, 7),
    "LayerNorm": (1, 3, 7),
    "LayerNormRecip": (1, 3, 8),
    "RMSNorm": (1, 3, 6),
    "RMSNormRecip": (1, 3, 7),
    "ShiftNormL1": (1, 5),
    "ShiftNormL2": (1, 5),
    "Table": (1, 2, 3, 4),
    **{f"{m}{op}": (1, place) for op, place in (_SOFTMAXES | _TANH_L1S).items() for m in ("", "Masked")},
    "Clip": (1, 2),
    "Max": (0, 1),
    "Min": (0, 1),
    "Mul": (0, 1),
    "Div": (1,),
    "Pad": (1, 2, 3),
}
"""Inputs that may be constants which no quantizer has touched; of integer type, every input may.

The compiler, through which every quantized model goes, refuses gains that are no powers of two and
bounds beside the grid.
"""

NODES_OF = {
    QuantLinear: ("Gemm", "MatMul"),
    QuantConv2d: ("Conv",),
    QuantMFLinear: ("MFMatMul",),
    QuantMFConv2d: ("MFConv",),
    QuantAdderLinear: ("AdderMatMul",),
    QuantAdderConv2d: ("AdderConv",),
    QuantMinLinear: ("MinMatMul",),
    QuantMinConv2d: ("MinConv",),
    QuantShiftLinear: ("ShiftMatMul",),
    QuantShiftConv2d: ("ShiftConv",),
    QuantAffine: ("Mul",),
    QuantDCT: ("Gemm", "MatMul"),
    QuantFilterbank: ("Conv",),
    QuantScaling: ("Mul",),
    QuantShiftAffine: ("Shift",),
    QuantTriangularLinear: ("Gemm", "MatMul"),
    QuantAdd: ("Add",),
    QuantMatMul: ("MatMul",),
    QuantMFMatMul: ("MFMatMul",),
    QuantMFMul: ("MFMul",),
    QuantMul: ("Mul",),
    QuantEmbedding: ("Gather",),
    QuantGram: ("Gram", "MatMul"),
    QuantRope: ("Mul",),
    QuantTokenEmbedding: ("Add",),
    QuantTable: ("Table",),
    QuantTanhL1: tuple(f"{masked}{op}" for op in _TANH_L1S for masked in ("", "Masked")),
    QuantSoftmax: tuple(f"{masked}{op}" for op in _SOFTMAXES for masked in ("", "Masked")),
    QuantDFTMagnitude: ("DFTAlphaBeta", "DFTMagnitude"),
    QuantFastDCT: ("DCT",),
    QuantFilterbankFFT: ("Filterbank",),
    QuantLayerNorm: ("LayerNorm", "LayerNormRecip"),
    QuantRMSNorm: ("RMSNorm", "RMSNormRecip"),
    QuantShiftNorm: ("ShiftNormL1", "ShiftNormL2"),
    QuantSoftThreshold: ("SoftThreshold",),
    WHT: ("WHT",),
    QuantWHT: ("WHT",),
    SoftThreshold: ("SoftThreshold",),
}
"""The nodes of which a layer must leave at least one."""


def check_numbers(model: onnx.ModelProto) -> None:
    """Raise `ExportError`, naming the tensor, for NaN, infinity and an empty graph (1, 5)."""
    if not model.graph.node:
        raise ExportError("the exported graph is empty; the model has a layer that torch or Brevitas does not export")
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ExportError(f"`{tensor.name}` holds NaN or infinite values")


def check_quantized(model: onnx.ModelProto, module: nn.Module, layer_key: str) -> None:
    """Raise `ExportError` where something was lost between `module` and `model` (2, 3, 4, 5)."""
    floats = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    floats = {name: values for name, values in floats.items() if values.dtype.kind == "f"}
    layers: dict[str, set[str]] = {}
    for node in model.graph.node:
        layer = next((p.value for p in node.metadata_props if p.key == layer_key), "")
        layers.setdefault(layer, set()).add(node.op_type)
        shown = f"node `{node.name}` ({node.op_type}) of layer `{layer}`"
        if node.op_type in ROUNDING_OPS and not node.domain:
            raise ExportError(f"{shown} rounds outside a Quant: a quantizer was taken apart on export")
        for k, name in enumerate(node.input):
            if name in floats and k not in PARAMETER_INPUTS.get(node.op_type, ()):
                raise ExportError(f"{shown} reads the constant `{name}`, which no quantizer has touched")
        if node.op_type == "Quant":
            _check_scale(shown, floats, node)
    _check_layers(module, layers, {node.name for node in model.graph.node if node.op_type == "Quant"})


def _check_scale(shown: str, floats: dict[str, np.ndarray], node: onnx.NodeProto) -> None:
    for k, what in ((1, "scale"), (2, "zero point"), (3, "bit width")):
        if node.input[k] not in floats:
            raise ExportError(f"{shown} has a {what} that is no constant")
    scale, zero_point = floats[node.input[1]], floats[node.input[2]]
    if (np.frexp(scale)[0] != 0.5).any():
        raise ExportError(f"{shown} has a scale that is no power of two")
    if zero_point.any():
        raise ExportError(f"{shown} has a zero point other than 0")


def _check_layers(module: nn.Module, layers: dict[str, set[str]], quantizers: set[str]) -> None:
    network = module.model if isinstance(module, QuantizedNetwork) else module
    for path, layer in network.named_modules():
        ops = NODES_OF.get(type(layer))
        if ops is not None and not layers.get(path, set()) & set(ops):
            raise ExportError(
                f"layer `{path}` ({type(layer).__name__}) left no {' or '.join(ops)} node in the exported graph"
            )
        for name, inner in layer.named_children():
            enabled = getattr(getattr(inner, "act_quant", inner), "is_quant_enabled", False)
            if (
                name.endswith("_quant")
                and name != "act_quant"
                and enabled
                and f"{path}.{name}".lstrip(".") not in quantizers
            ):
                raise ExportError(
                    f"quantizer `{f'{path}.{name}'.lstrip('.')}` left no Quant node in the exported graph"
                )
