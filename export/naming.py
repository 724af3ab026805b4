"""Names and metadata of an exported model: everything is called after the module that it came from.

    quantizer of module m.w           node and output `m.w`, initializers `m.w.scale`, `m.w.zero_point`, `m.w.bit_width`
    weight or bias of module m        `m.weight`, `m.bias`
    any other node of module m        node and output `m/Op`

The only metadata left is `mfsim.layer`, the dotted path of the module; what torch's exporter writes
beside it holds source code and local paths. Names that occur twice are numbered.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import onnx

from mfsim import ops
from mfsim.ops.traits import DOMAIN

SCOPES = "pkg.torch.onnx.name_scopes"
LAYER_KEY = "mfsim.layer"
"""Key of a node's metadata: the dotted path of the module that made it."""
PARAMETERS = ("", "scale", "zero_point", "bit_width")
STANDARD_ROLES = {
    "Add": ("bias", "bias"),
    "Conv": ("", "weight", "bias"),
    "Gemm": ("", "weight", "bias"),
    "MatMul": ("weight", "weight"),
}
"""What the constant inputs of a standard op are called."""
ENDS = ("input_quant", "output_quant")
"""Lists of a quantized network with the quantizers of its inputs and outputs; a single one is not numbered."""
HIDDEN = ("export_handler", "act_quant")
"""Inner modules of a Brevitas quantizer that its name leaves out."""


def set_names(model: onnx.ModelProto, inside: bool) -> dict[str, list[str]]:
    """Rename nodes, values and initializers of an exported `model`, and replace the metadata.

    Parameters
    ----------
    model : onnx.ModelProto
        Changed in place.
    inside : bool
        Whether it comes from a `QuantizedNetwork`, which has the layers inside its `model`.

    Returns
    -------
    dict of str to list of str
        Names of the Quant nodes of each quantizer, by its path.
    """
    graph = model.graph
    ends = {value.name for value in (*graph.input, *graph.output)}
    fresh = _numbering(ends)
    names: dict[str, str] = {}
    constants = {tensor.name for tensor in graph.initializer}
    quantizers: dict[str, list[str]] = {}
    for node in graph.node:
        path = f".{_path(node)}".removeprefix(".model" if inside else "").removeprefix(".")
        is_quant = node.op_type == "Quant"
        layer = path.rpartition(".")[0] if is_quant else path
        quantizer = path
        if is_quant and layer in ENDS:
            layer = path = end_name(path, len(graph.output if layer == "output_quant" else graph.input))
        name = fresh(path if is_quant else f"{path}/{node.op_type}")
        if is_quant:
            quantizers.setdefault(quantizer, []).append(name)
        for k, old in enumerate(node.input):
            if old in constants and old not in names:
                names[old] = fresh(_role(node, k, name, layer))
        node.name = name
        for k, old in enumerate(node.output):
            if old and old not in ends:
                names[old] = name if k == 0 else fresh(f"{name}.{k}")
        del node.metadata_props[:]
        node.metadata_props.add(key=LAYER_KEY, value=layer)
        node.ClearField("doc_string")
    _apply(graph, names)
    return quantizers


def end_name(path: str, count: int) -> str:
    """Return what the quantizer at `path` is called at one of `count` inputs or outputs: a single one is not numbered.

    Parameters
    ----------
    path : str
        Such as `input_quant.0`.
    count : int, at least 1

    Returns
    -------
    str
    """
    return path if count > 1 else path.rpartition(".")[0]


def _path(node: onnx.NodeProto) -> str:
    """Return the path of the module that made `node`; of a quantizer, its own path."""
    scopes = next((p.value for p in node.metadata_props if p.key == SCOPES), "[]")
    parts = ast.literal_eval(scopes)[:-1]
    path = parts[-1] if parts else ""
    if path.startswith("_empty_nn_module"):
        return ""
    names = path.split(".")
    while names and names[-1] in HIDDEN:
        names.pop()
    return ".".join(names)


def _role(node: onnx.NodeProto, k: int, name: str, layer: str) -> str:
    """Return the name for the constant in input `k` of the node called `name`."""
    if node.op_type == "Quant" and k:
        return f"{name}.{PARAMETERS[k]}"
    if node.op_type == "Quant":
        return f"{layer}.{name.rpartition('.')[2].removesuffix('_quant')}".lstrip(".")
    signature = ops.signatures().get(node.op_type) if node.domain == DOMAIN else None
    roles = STANDARD_ROLES.get(node.op_type, ()) if signature is None else [i.stored for i in signature.inputs]
    if k < len(roles) and roles[k]:
        return f"{layer}.{roles[k]}".lstrip(".")
    if signature is not None and k == len(roles):
        return f"{layer}.mask".lstrip(".")
    return f"{name}.{'shape' if node.op_type == 'Reshape' else f'input_{k}'}"


def _numbering(taken: set[str]) -> Callable[[str], str]:
    """Return a function that makes a name unique by a number behind it."""
    taken = set(taken)

    def fresh(name: str) -> str:
        unique, number = name, 1
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken.add(unique)
        return unique

    return fresh


def _apply(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    for node in graph.node:
        for k, old in enumerate(node.input):
            node.input[k] = names.get(old, old)
        for k, old in enumerate(node.output):
            node.output[k] = names.get(old, old)
    for tensor in graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
        del tensor.metadata_props[:]
        tensor.ClearField("doc_string")
    shapes = [value for value in graph.value_info if value.name in names]
    made = {name for node in graph.node for name in node.output}
    kept = []
    for value in shapes:
        value.name = names[value.name]
        if value.name in made:
            kept.append(value)
    del graph.value_info[:]
    graph.value_info.extend(kept)
    for value in (*graph.value_info, *graph.input, *graph.output):
        del value.metadata_props[:]
        value.ClearField("doc_string")
    del graph.metadata_props[:]
    graph.name, graph.doc_string = "network", ""
