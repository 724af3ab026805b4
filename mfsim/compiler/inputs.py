"""Find the quantizer of each graph input: it says in which codes the program is fed.

Only ops that move data may stand between an input and its quantizers, so that quantizing first gives
the same codes. Several quantizers of one input must agree.
"""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import FLOAT_TYPES, Lowering, is_quant, naming
from mfsim.compiler.quantizer import Quantizer
from mfsim.errors import FormatError, ModelError
from mfsim.formats import Range
from mfsim.program import Tensor

MOVING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def define_inputs(lowering: Lowering) -> dict[str, str]:
    """Add the program's inputs and return the metadata that says how reals become their codes.

    The quantizers found are left in `lowering.input_quants`: they have nothing more to do.
    """
    if not any(is_quant(node) for node in lowering.graph.nodes):
        raise ModelError(
            "the model has no Quant node, so it is not quantized; compile the model.onnx that `mfsim export` writes"
        )
    metadata = {}
    for name, shape in lowering.graph.inputs.items():
        found: list[tuple[FileNode, Quantizer]] = []
        moved = _follow(lowering, name, name, found)
        if not found:
            raise ModelError(f"graph input `{name}` is read by no Quant; quantize it first")
        node, quantizer = found[0]
        for other, again in found[1:]:
            if not again.same_as(quantizer):
                raise ModelError(
                    f"graph input `{name}` is read by the quantizers `{node.name}` and `{other.name}`, which differ; "
                    "quantize the input once"
                )
        shape = (1, *shape[1:])
        with naming(node):
            if moved and quantizer.exponents.size > 1:
                raise FormatError(
                    f"the scale must be one number, because graph input `{name}` is moved before it is quantized"
                )
            tensor = Tensor(name, shape, quantizer.format, quantizer.scale_for(shape), Range.of(*quantizer.limits))
        lowering.values[name] = lowering.builder.input_tensor(tensor)
        lowering.input_quants.update(node for node, _ in found)
        metadata[f"input.{name}.rounding"] = quantizer.rounding
    return metadata


def _follow(lowering: Lowering, origin: str, name: str, found: list[tuple[FileNode, Quantizer]]) -> bool:
    """Collect the quantizers behind `name`; whether something moves the data on the way."""
    if name in lowering.graph.outputs:
        raise ModelError(f"graph output `{name}` is graph input `{origin}` without a Quant; quantize it first")
    moved = False
    for node in lowering.graph.consumers.get(name, ()):
        if is_quant(node) and node.inputs[0] == name:
            with naming(node):
                found.append((node, lowering.quantizer(node)))
        elif node.domain == "" and node.op == "Shape":
            continue
        elif _moves(node) and node.inputs[0] == name:
            moved |= node.op != "Identity"
            moved |= _follow(lowering, origin, node.outputs[0], found)
        else:
            raise ModelError(f"{node.shown} reads graph input `{origin}` before any Quant; quantize the input first")
    return moved


def _moves(node: FileNode) -> bool:
    return node.domain == "" and (node.op in MOVING or (node.op == "Cast" and node.integer("to", 0) in FLOAT_TYPES))
