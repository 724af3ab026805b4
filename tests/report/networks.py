"""Results of small networks for the report."""

from __future__ import annotations

import numpy as np

from mfsim.analysis import count, layer_errors, layer_outputs, layers, memory, widths
from mfsim.analysis.added import AddedError, AddedErrors
from mfsim.report import NetworkResult, ParityPair
from tests.analysis.programs import simulated

ACCURACY = {"float": 0.9889, "quantized": 0.9861, "integer": 0.975}


def result(name, program, *, accuracy=ACCURACY, mismatches=0, allow_uncounted=False, errors=True, **more):
    """Return a network with everything in it: half of each proved range observed, one exact layer."""
    observed = {}
    for tensor in program.tensors.values():
        if not tensor.is_constant:
            observed[tensor.name] = (
                tensor.range.low // 2 if tensor.range.low < 0 else tensor.range.low,
                tensor.range.high,
            )
    simulation = simulated(observed, {program.nodes[-1].name: 5})
    counts, words, stored = (
        count(program, allow_uncounted=allow_uncounted),
        widths(program, simulation),
        memory(program),
    )
    figures = _errors(program) if errors else None
    return NetworkResult(
        name,
        accuracy,
        (ParityPair("model.onnx = simulator", 360, 0), ParityPair("simulator = integer.onnx", 360, mismatches)),
        counts,
        words,
        stored,
        layers(program, counts, words, stored, figures),
        figures,
        added=AddedErrors((AddedError("act", "Table", 64, 0.49, 0.25, 0.001),)) if errors else AddedErrors(),
        **more,
    )


def _errors(program):
    references, codes = {}, {}
    for k, name in enumerate(layer_outputs(program).values()):
        tensor = program.tensors[name]
        codes[name] = np.full((4, *tensor.shape[1:]), tensor.range.high // 2 + 1, dtype=np.int64)
        exponents = np.array(tensor.scale.along(1))
        references[name] = codes[name] * 2.0 ** exponents[0] * (1 + k / 100)
    return layer_errors(program, references, codes)
