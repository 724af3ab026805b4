"""qonnx's executor on model.onnx: what it cannot take is rewritten before, outside of what is timed.

It knows Quant, and no functions; those of org.mfsim are written out in their places. It runs one node at a time
and gives a branch none of the names around it, so where a function chooses by its attributes, ONNX Runtime first
folds what is constant, Quant's body too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
from onnx import inliner
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

from benchmarks.networks import Network


def executor(network: Network, count: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from `count` images to outputs."""
    functions = [(function.domain, function.name) for function in network.file.functions]
    ours = [key for key in functions if key[0] == "org.mfsim"]
    file = inliner.inline_selected_functions(network.file, ours) if ours else network.file
    for value in (*file.graph.input, *file.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = count
    del file.graph.value_info[:]
    if any(node.op_type == "If" for node in file.graph.node):
        file = _folded(file, network)
    del file.functions[:]
    wrapped = ModelWrapper(file).transform(InferShapes())
    name = file.graph.input[0].name
    return lambda values: next(iter(execute_onnx(wrapped, {name: values}).values()))


def _folded(file: onnx.ModelProto, network: Network) -> onnx.ModelProto:
    path = network.folder / f"{network.name}-folded.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(file.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(path)
