"""Run an integer model in ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

TYPES = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}


def session(model: onnx.ModelProto, optimised: bool) -> onnxruntime.InferenceSession:
    """Return a session on one thread, with all optimisations or none."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model: onnx.ModelProto, codes: dict[str, np.ndarray], optimised: bool = True) -> dict[str, np.ndarray]:
    """Return the output codes by name, as int64."""
    return run_session(session(model, optimised), codes)


def run_session(opened: onnxruntime.InferenceSession, codes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the output codes of `opened` by name, as int64; the input codes must fit its types."""
    feeds = {}
    for value in opened.get_inputs():
        feeds[value.name] = codes[value.name].astype(TYPES[value.type])
        assert (feeds[value.name] == codes[value.name]).all(), f"the codes of {value.name} do not fit {value.type}"
    names = [value.name for value in opened.get_outputs()]
    return {name: array.astype(np.int64) for name, array in zip(names, opened.run(names, feeds), strict=True)}
