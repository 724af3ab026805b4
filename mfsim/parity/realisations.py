"""Every realisation of one quantized network on the same inputs, compared code by code.

    quantized torch = model.onnx = simulator = integer.onnx = definition of each op

The files run in stock ONNX Runtime with its optimisations on and off. Networks may have several inputs,
ids of tokens among them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import torch

from mfsim.analysis.listing import Listing
from mfsim.analysis.tabular import Tabular
from mfsim.compiler import compile_model
from mfsim.display import counted
from mfsim.errors import DataError
from mfsim.export.exporter import quantized_model
from mfsim.export.runtime import run, session
from mfsim.ir.program import Program
from mfsim.keywords import check_keywords
from mfsim.parity.compare import ParityPair, codes_of, compare_codes
from mfsim.parity.edges import edge_pairs
from mfsim.parity.reference import run_reference
from mfsim.quant import QuantizedNetwork
from mfsim.quant.observer import as_inputs, as_outputs
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input, simulate

BATCH = 64

REFERENCE_BATCH = 16

Source = str | os.PathLike[str] | onnx.ModelProto

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, repr=False)
class Realisations(Tabular):
    """Result of `compare_realisations`.

    Attributes
    ----------
    program : compiled from the network's model.onnx.
    codes : int64 output codes of the simulator, by name.
    parity : pairs of realisations, and how many of their codes differ.
    """

    program: Program
    codes: Mapping[str, np.ndarray]
    parity: tuple[ParityPair, ...]

    def headline(self) -> str:
        """Return how many codes of all pairs were compared, and how many differ."""
        return f"{counted(self.compared, 'code')} compared, {self.differences:,} of them differ"

    def listings(self) -> list[Listing]:
        """Return the table of pairs."""
        pairs = tuple((pair.name, pair.compared, pair.mismatches) for pair in self.parity)
        return [Listing("parity", ("name", "compared", "mismatches"), pairs)]

    @property
    def compared(self) -> int:
        """Codes that were compared, of all pairs."""
        return sum(pair.compared for pair in self.parity)

    @property
    def differences(self) -> int:
        """Codes that differ, of all pairs."""
        return sum(pair.mismatches for pair in self.parity)


@check_keywords
@torch.no_grad()
def compare_realisations(
    network: QuantizedNetwork,
    inputs: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...],
    *,
    references: int = 0,
    edges: bool = True,
    batch_size: int = BATCH,
    threads: int | None = None,
) -> Realisations:
    """Export and compile a quantized network, run every realisation, and compare them code by code.

    Parameters
    ----------
    network : QuantizedNetwork, in eval mode
    inputs : array or tensor, float32 [N, ...], or a tuple of them for several inputs; int64 for ids
    references : samples that are computed from the definitions of the ops as well, which is slow
    edges : whether every edge is compared with model.onnx and integer.onnx, or the outputs alone
    batch_size, threads : of the simulator; by default a thread for each core

    Raises
    ------
    DataError
        If the inputs are not finite or not equally many, or `references` is negative.
    ExportError, MfsimError
        If the network cannot be exported or has no integer program.
    ParityError
        If the torch network or model.onnx gives values that are no codes of the program's outputs.
    """
    if references < 0:
        raise DataError(f"`references` must be at least 0, not {references}")
    given = as_inputs(inputs, "comparison")
    model = quantized_model(network, tuple(x[:2] for x in given))
    program = compile_model(model)
    values = {name: x.numpy() for name, x in zip(program.inputs, given, strict=True)}
    codes = quantize_input(program, values)
    assert isinstance(codes, dict), "a dict gives a dict"
    outputs = simulate(program, codes, batch_size=batch_size, threads=threads).outputs
    parts = [
        as_outputs(network(*(x[start : start + batch_size] for x in given)))
        for start in range(0, len(given[0]), batch_size)
    ]
    made = {name: torch.cat(part).numpy() for name, *part in zip(program.outputs, *parts, strict=True)}
    pairs = [*float_pairs(program, made, model, values, outputs)]
    integers = integer_model(program)
    pairs += integer_pairs(program, integers, codes, outputs)
    if edges:
        pairs += edge_pairs(program, model, integers, values, codes, threads=threads)
    if references:
        pairs.append(reference_pair(program, {name: array[:references] for name, array in codes.items()}, outputs))
    return Realisations(program, outputs, tuple(pairs))


def _setting(optimise: bool) -> str:
    return f"optimisations {'on' if optimise else 'off'}"


def float_pairs(
    program: Program, torch_values: Arrays, model: Source, values: Arrays, outputs: Arrays
) -> list[ParityPair]:
    """Compare what the quantized torch network gave, model.onnx on `values`, and the simulator's `outputs`.

    Parameters
    ----------
    program : Program
        Compiled program.
    torch_values : mapping of str to array of real
        Outputs of the quantized torch network by name.
    model : str, path or onnx.ModelProto
        model.onnx.
    values : mapping of str to float array, shape (batch, ...)
        Inputs by name.
    outputs : mapping of str to int64 array
        Codes of the simulator by output name.

    Returns
    -------
    list of ParityPair
        model.onnx with and without ONNX Runtime's optimisations, then the simulator.

    Raises
    ------
    ParityError
        If a value is no multiple of its scale.
    """
    torch_codes = codes_of(program, torch_values)
    pairs = []
    for optimise in (True, False):
        found = codes_of(program, run(session(model, optimise), values))
        pairs.append(compare_codes(f"quantized torch = model.onnx, {_setting(optimise)}", torch_codes, found))
    return [*pairs, compare_codes("quantized torch = simulator", torch_codes, outputs)]


def integer_pairs(program: Program, integers: Source, codes: Arrays, outputs: Arrays) -> list[ParityPair]:
    """Compare the simulator's `outputs` with integer.onnx on `codes`, and the program in that file with `program`.

    Parameters
    ----------
    program : Program
        Compiled program.
    integers : str, path or onnx.ModelProto
        integer.onnx.
    codes : mapping of str to integer array, shape (batch, ...)
        Input codes by name.
    outputs : mapping of str to int64 array
        Codes of the simulator by output name.

    Returns
    -------
    list of ParityPair
        integer.onnx with and without ONNX Runtime's optimisations, then the digest.

    Raises
    ------
    ModelError
        If the file holds no program.
    """
    pairs = []
    for optimise in (True, False):
        opened = session(integers, optimise)
        kinds = {value.name: np.int64 if "int64" in value.type else np.int32 for value in opened.get_inputs()}
        found = run(opened, {name: codes[name].astype(kind) for name, kind in kinds.items()}, batch_size=BATCH)
        pairs.append(compare_codes(f"simulator = integer.onnx, {_setting(optimise)}", outputs, found))
    same = read_integer(integers).digest() == program.digest()
    return [*pairs, ParityPair("compiled program = program in integer.onnx, digest", 1, int(not same))]


def reference_pair(
    program: Program, codes: Arrays, outputs: Arrays, progress: Callable[[int, int], None] = lambda done, total: None
) -> ParityPair:
    """Compare the first of the simulator's `outputs` with the definitions of the ops on `codes`.

    A few samples run at a time, as Python ints take memory.

    Parameters
    ----------
    program : Program
        Compiled program.
    codes : mapping of str to integer array, shape (batch, ...)
        Input codes by name.
    outputs : mapping of str to int64 array
        Codes of the simulator by output name, of at least as many samples.
    progress : callable of (int, int)
        Called with samples done and samples in all.

    Returns
    -------
    ParityPair
        Codes compared, and how many differ.
    """
    count, parts = len(next(iter(codes.values()))), []
    for start in range(0, count, REFERENCE_BATCH):
        progress(start, count)
        parts.append(run_reference(program, {name: x[start : start + REFERENCE_BATCH] for name, x in codes.items()}))
    expected = {name: np.concatenate([part[name] for part in parts]) for name in program.outputs}
    first = {name: values[:count] for name, values in outputs.items()}
    return compare_codes("simulator = definition of each op", first, expected)
