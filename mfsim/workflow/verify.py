"""Run a program bit for bit over a data set and hold it against every other realisation and against float.

The pairs of `parity` are compared code by code on the whole data set, the files on every edge; only the definitions of the ops,
which are computed in Python ints, take a few samples. Errors by layer are those of the codes against
float.onnx, whose layers have the same paths; what each integer function adds is measured beside them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mfsim.analysis.added import AddedErrors
from mfsim.analysis.error import ErrorReport, LayerError, LayerErrors, layer_outputs
from mfsim.compiler.frontend.reader import read_model
from mfsim.data import Split
from mfsim.errors import ModelError
from mfsim.export.layers import layer_values, with_outputs
from mfsim.export.runtime import run as run_session
from mfsim.export.runtime import session
from mfsim.ir.program import Program
from mfsim.parity.compare import ParityPair
from mfsim.parity.edges import edge_pairs
from mfsim.parity.realisations import float_pairs, integer_pairs, reference_pair
from mfsim.quant import QuantizedNetwork
from mfsim.quant.approximation_error import approximation_errors
from mfsim.run_folder import RunFolder
from mfsim.simulate import Simulation, quantize_input, simulate
from mfsim.simulate.values import classes
from mfsim.train import logits

ERROR_SAMPLES = 1024
"""Samples whose layers are compared with float; all tensors of a batch are kept for that."""

BATCH = 64

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verification:
    """What the simulation of a run folder found: the content of simulation.json."""

    samples: int
    accuracy: float
    parity: tuple[ParityPair, ...]
    observed: Mapping[str, tuple[int, int]]
    overflows: Mapping[str, int]
    errors: ErrorReport
    added: AddedErrors = field(default_factory=AddedErrors)

    @property
    def simulation(self) -> Simulation:
        """The observed ranges and overflow events as `mfsim.analysis.widths` takes them."""
        return Simulation(self.samples, {}, dict(self.observed), dict(self.overflows))

    def to_json(self) -> dict[str, Any]:
        """Return the content of simulation.json."""
        return {
            "samples": self.samples,
            "accuracy": self.accuracy,
            "parity": [asdict(pair) for pair in self.parity],
            "observed": {name: list(bounds) for name, bounds in self.observed.items()},
            "overflows": dict(self.overflows),
            **self.errors.to_json(),
            "added_errors": self.added.records(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Verification:
        """Verification from the content of a simulation.json.

        Parameters
        ----------
        content : mapping
            What `to_json` wrote.

        Returns
        -------
        Verification
            The verification.

        Raises
        ------
        ModelError
            If it is something else.
        """
        try:
            return cls(
                content["samples"],
                content["accuracy"],
                tuple(ParityPair(**pair) for pair in content["parity"]),
                {name: (lo, hi) for name, (lo, hi) in content["observed"].items()},
                content["overflows"],
                ErrorReport(tuple(LayerError(**row) for row in content["errors"])),
                AddedErrors.from_records(content["added_errors"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"simulation.json is not what `mfsim simulate` writes: {error!r}") from error


def read_verification(run: RunFolder) -> Verification:
    """Return what the last simulation of the run folder found.

    Parameters
    ----------
    run : RunFolder
        Run folder after `mfsim simulate`.

    Returns
    -------
    Verification
        What its simulation.json holds.

    Raises
    ------
    ModelError
        If it is missing or damaged.
    """
    return Verification.from_json(run.read("simulation.json"))


def simulate_step(
    run: RunFolder,
    program: Program,
    split: Split,
    *,
    quantized: QuantizedNetwork,
    references: int = 4,
    batch_size: int = BATCH,
    threads: int | None = None,
    trace: str | os.PathLike[str] | None = None,
    exact_words: bool = False,
    edges: bool = True,
    record: bool = True,
    progress: Progress = lambda what, done, total: None,
) -> Verification:
    """Simulate `program` on all images of `split` and compare it with everything else in the folder.

    Parameters
    ----------
    run : holds float.onnx, model.onnx and integer.onnx of the program.
    quantized : the torch network that model.onnx was exported from.
    references : samples that are computed from the definitions of the ops as well.
    trace : folder for the codes of every edge.
    exact_words : whether every intermediate is held against its proved word, which is slow.
    edges : whether every edge is compared with model.onnx and integer.onnx, or the outputs alone.
    record : whether simulation.json and the integer accuracy in run.json are written; only for the whole
        test split of the run's own data, since they stand beside figures for that.

    Raises
    ------
    DataError, ShapeError
        If the images do not suit the program.
    ParityError
        If another realisation gives values that are no codes of the program's outputs.
    WordOverflowError
        With `exact_words`, if a value does not fit its word.
    """
    codes = _input_codes(program, split.images)
    result = simulate(
        program,
        codes,
        batch_size=batch_size,
        threads=threads,
        observe=True,
        trace=trace,
        exact_words=exact_words,
        progress=_part("simulate", progress),
    )
    (name,), (output,) = program.inputs, program.outputs
    torch_values = {output: logits(quantized, split.images).numpy()}
    pairs = [
        *float_pairs(program, torch_values, run.need("model.onnx"), {name: split.images}, result.outputs),
        *integer_pairs(program, run.need("integer.onnx"), {name: codes}, result.outputs),
    ]
    if edges:
        model, integers = (read_model(run.need(file)) for file in ("model.onnx", "integer.onnx"))
        images, on_edges = {name: split.images}, _part("every edge", progress)
        pairs += edge_pairs(program, model, integers, images, {name: codes}, threads=threads, progress=on_edges)
    if references:
        few = {name: codes[:references]}
        pairs.append(reference_pair(program, few, result.outputs, _part("reference", progress)))
    found = Verification(
        len(split),
        float(np.mean(classes(program, result.output) == split.labels)),
        tuple(pairs),
        result.observed,
        result.overflows,
        _errors(run, program, split.images[:ERROR_SAMPLES], codes[:ERROR_SAMPLES], progress),
        approximation_errors(quantized, split.images[:ERROR_SAMPLES]),
    )
    if record:
        run.write("simulation.json", found.to_json())
        run.update(accuracy={**run.read()["accuracy"], "integer": found.accuracy})
    return found


def _input_codes(program: Program, images: np.ndarray) -> np.ndarray:
    """Return the codes of `images` for the only input of `program`."""
    return quantize_input(program, {program.inputs[0]: images})[program.inputs[0]]


def _part(what: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(what, done, total)


def _errors(run: RunFolder, program: Program, images: np.ndarray, codes: np.ndarray, progress: Progress) -> ErrorReport:
    """Return the error of what each layer hands on, against the same layer of float.onnx."""
    floats = read_model(run.need("float.onnx"))
    values, tensors = layer_values(floats), layer_outputs(program)
    shared = {tensors[layer]: values[layer] for layer in tensors if layer in values}
    outputs = dict(zip(program.outputs, (value.name for value in floats.graph.output), strict=True))
    shared |= outputs
    opened = session(with_outputs(floats, shared.values()))
    errors = LayerErrors(program)
    for start in range(0, len(images), BATCH):
        found = run_session(opened, images[start : start + BATCH])
        kept = simulate(program, codes[start : start + BATCH], keep=tuple(shared)).kept
        same_shape = {name: found[value] for name, value in shared.items() if found[value].shape == kept[name].shape}
        errors.add(same_shape, kept)
        progress("error by layer", min(start + BATCH, len(images)), len(images))
    return errors.report()
