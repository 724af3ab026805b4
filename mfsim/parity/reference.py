"""Run a program by the definitions of its ops: slow, obvious, in Python ints.

This is what the simulator has to equal. It shares no line with a kernel and no word can overflow in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfsim import ops
from mfsim.errors import ShapeError
from mfsim.ir.program import Program
from mfsim.ops.op import objects


def run_reference(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the output codes of `program` for `inputs`, computed from the definition of each op.

    Parameters
    ----------
    program : the integer program.
    inputs : codes of each input, integer arrays [N, ...]; the batch N must be at least 1.

    Returns
    -------
    dict of int64 arrays, one for each output, by name.

    Raises
    ------
    ShapeError
        If an input is missing or has another shape than the program's.
    """
    values: dict[str, np.ndarray] = {}
    for name in program.inputs:
        shape = program.tensors[name].shape[1:]
        if name not in inputs or np.shape(inputs[name])[1:] != shape or not len(inputs[name]):
            given = np.shape(inputs[name]) if name in inputs else "nothing"
            raise ShapeError(f"input `{name}` must have the shape [N, {', '.join(map(str, shape))}], not {given}")
        values[name] = objects(inputs[name])
    last_use = {name: step for step, node in enumerate(program.nodes) for name in node.inputs}
    for step, node in enumerate(program.nodes):
        operands = [objects(t.codes) if t.codes is not None else values[t.name] for t in program.inputs_of(node)]
        results = ops.get(node.op).reference(operands, node.attributes)
        values.update(zip(node.outputs, results, strict=True))
        for name in node.inputs:
            if last_use[name] == step and name not in program.outputs:
                values.pop(name, None)
    return {name: np.array(values[name], dtype=np.int64) for name in program.outputs}
