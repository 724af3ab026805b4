"""Every edge of a program, not its outputs alone, held against the same values of the files in ONNX Runtime.

An edge has one name everywhere: its codes in the simulator, in integer.onnx, and, where the file has a value of that name,
its real values in model.onnx. Both files run with ONNX Runtime's optimisations off, as an optimised graph has lost inner
values. Edges that only a program has (the inside of what is one node in the file) are compared with integer.onnx alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from onnx import TensorProto

from mfsim.errors import ParityError
from mfsim.export.layers import with_outputs
from mfsim.export.runtime import run, session
from mfsim.ir.program import Program, Tensor
from mfsim.parity.compare import ParityPair, compare_codes
from mfsim.simulate import Simulator

BATCH = 64
"""Samples whose edges are in memory at a time."""


def edge_pairs(
    program: Program,
    model: onnx.ModelProto,
    integers: onnx.ModelProto,
    values: Mapping[str, np.ndarray],
    codes: Mapping[str, np.ndarray],
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[ParityPair]:
    """Compare every edge of `program` with model.onnx and with integer.onnx.

    Parameters
    ----------
    program : Program
    model : onnx.ModelProto
        The model.onnx that the program was compiled from.
    integers : onnx.ModelProto
        The integer.onnx that was written from the program.
    values : mapping of arrays [N, ...]
        Inputs of `model` by name, real values or ids.
    codes : mapping of int64 arrays [N, ...]
        The same inputs as codes.
    threads : int, at least 1
        Of the simulator; by default one for each core.
    progress : callable
        Called with (samples done, samples in all) after each batch.

    Returns
    -------
    list of ParityPair
        One for each file: all codes of all its edges, and how many of them differ.

    Raises
    ------
    ParityError
        If model.onnx has a value at an edge that is no code there; it names the edge.
    """
    edges = [name for name, tensor in program.tensors.items() if not tensor.is_constant and name not in program.inputs]
    known = {value.name: value.type.tensor_type.elem_type for value in (*model.graph.value_info, *model.graph.output)}
    written = {name for node in model.graph.node for name in node.output}
    floats = [
        name
        for name in edges
        if name in written
        and known.get(name, TensorProto.FLOAT) == TensorProto.FLOAT
        and program.tensors[name].scale.factors == ()
    ]
    real = session(with_outputs(model, floats), optimise=False)
    exact = session(with_outputs(integers, edges), optimise=False)
    kinds = {value.name: np.int64 if "int64" in value.type else np.int32 for value in exact.get_inputs()}
    simulator = Simulator(program)
    count = len(next(iter(codes.values())))
    found = {
        "model.onnx": ParityPair(_name("model.onnx"), 0, 0),
        "integer.onnx": ParityPair(_name("integer.onnx"), 0, 0),
    }
    for start in range(0, count, BATCH):
        part = slice(start, start + BATCH)
        kept = simulator.run({name: array[part] for name, array in codes.items()}, threads=threads, keep=edges).kept
        reals = run(real, {name: array[part] for name, array in values.items()}, batch_size=BATCH)
        held = {name: _codes(program.tensors[name], reals[name]) for name in floats}
        integer = run(exact, {name: codes[name][part].astype(kind) for name, kind in kinds.items()}, batch_size=BATCH)
        for file, other, names in (("model.onnx", held, floats), ("integer.onnx", integer, edges)):
            pair = compare_codes(file, {name: kept[name] for name in names}, other)
            found[file] = ParityPair(
                found[file].name, found[file].compared + pair.compared, found[file].mismatches + pair.mismatches
            )
        progress(min(start + BATCH, count), count)
    return list(found.values())


def _name(file: str) -> str:
    return f"simulator = {file}, every edge, optimisations off"


def _codes(tensor: Tensor, values: np.ndarray) -> np.ndarray:
    """Return the codes of real values at an edge, whose scale may vary along an axis."""
    exponents = np.array(tensor.scale.exponents)
    if tensor.scale.axis is not None:
        exponents = exponents.reshape([-1 if k == tensor.scale.axis else 1 for k in range(len(tensor.shape))])
    steps = np.ldexp(values.astype(np.float64), -exponents)
    if not (np.isfinite(steps).all() and np.array_equal(np.rint(steps), steps)):
        raise ParityError(f"edge `{tensor.name}` of model.onnx has values that are no multiples of {tensor.scale}")
    codes: np.ndarray = steps.astype(np.int64)
    return codes
