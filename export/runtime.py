"""Run an exported file in stock ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime

from mfsim.compiler.frontend.reader import read_model
from mfsim.errors import ModelError, ShapeError
from mfsim.keywords import check_keywords


@check_keywords
def session(
    source: str | os.PathLike[str] | onnx.ModelProto, optimise: bool = True, *, threads: int = 1
) -> onnxruntime.InferenceSession:
    """Return a session of ONNX Runtime on the CPU.

    Parameters
    ----------
    source : path of an ONNX file, or a ModelProto
    optimise : bool
        Whether ONNX Runtime may rewrite the graph.
    threads : int
        At least 1.

    Raises
    ------
    ModelError
        If the file is missing or damaged, or ONNX Runtime refuses it.
    """
    model = read_model(source)
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the classes of its errors have no common base of their own
        raise ModelError(f"ONNX Runtime refuses the model: {str(error).splitlines()[0]}") from error


@check_keywords
def run(
    session: onnxruntime.InferenceSession, inputs: np.ndarray | Mapping[str, np.ndarray], *, batch_size: int = 256
) -> dict[str, np.ndarray]:
    """Return every output by name, the samples run in batches.

    Parameters
    ----------
    session : of a model whose axis 0 is the batch everywhere
    inputs : array for the only input, or arrays by name, equally many samples each
    batch_size : int
        At least 1.

    Raises
    ------
    ShapeError
        If names, shapes or numbers of samples do not suit the model.
    """
    declared = {value.name: value for value in session.get_inputs()}
    feeds = dict(inputs) if isinstance(inputs, Mapping) else {next(iter(declared)): inputs}
    if feeds.keys() != declared.keys():
        raise ShapeError(f"the model has the inputs {', '.join(declared)}, not {', '.join(feeds)}")
    counts = {len(array) for array in feeds.values()}
    if len(counts) != 1 or batch_size < 1:
        raise ShapeError(
            f"all inputs must have the same number of samples, not {sorted(counts)}, in batches of at least 1"
        )
    for name, array in feeds.items():
        expected = declared[name].shape
        if array.ndim != len(expected) or any(
            isinstance(n, int) and n != m for n, m in zip(expected, array.shape, strict=True)
        ):
            shown = ", ".join(str(n) for n in expected)
            raise ShapeError(f"input `{name}` must have the shape ({shown}), not {array.shape}")
    (count,) = counts
    names = [value.name for value in session.get_outputs()]
    parts = [
        session.run(names, {name: array[start : start + batch_size] for name, array in feeds.items()})
        for start in range(0, max(count, 1), batch_size)
    ]
    return {name: np.concatenate([part[k] for part in parts]) for k, name in enumerate(names)}
