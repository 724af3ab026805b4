"""Run an integer model in ONNX Runtime, and its program by the references of the ops."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from mfsim import ops
from mfsim.export.runtime import session
from mfsim.ir.program import Program
from mfsim.ops.op import objects
from tests.conformance.samples import limits

TYPES = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}


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


def reference(program: Program, codes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the codes of every tensor of `program` by name, computed by the references of its ops."""
    values = {name: objects(array) for name, array in codes.items()}
    values |= {tensor.name: objects(tensor.codes) for tensor in program.tensors.values() if tensor.is_constant}
    for node in program.nodes:
        results = ops.get(node.op).reference([values[name] for name in node.inputs], node.attributes)
        values |= dict(zip(node.outputs, results, strict=True))
    return {name: np.array(array, dtype=np.int64) for name, array in values.items()}


def random_codes(program: Program, batch: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return seeded random codes for the inputs of `program`, the ends of their ranges in the first two samples."""
    rng = np.random.default_rng(seed)
    codes = {}
    for name in program.inputs:
        low, high = limits(program.tensors[name])
        random = rng.integers(low, high, size=(batch, *low.shape), endpoint=True)
        codes[name] = np.concatenate([low[None], high[None], random])[:batch]
    return codes
