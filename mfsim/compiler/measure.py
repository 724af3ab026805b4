"""How far a program is from the file that it was compiled from: in steps of each output, against stock ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from mfsim.compiler.checks import QONNX, STANDARD
from mfsim.compiler.foreign import at_least, normalised
from mfsim.compiler.reader import read_model
from mfsim.errors import ShapeError
from mfsim.export.functions import DOMAINS, OPSET, bodies
from mfsim.export.runtime import run, session
from mfsim.program import Program
from mfsim.simulate import quantize_input, simulate

BIPOLAR = """
<opset_import: ["" : 20], domain: "qonnx.custom_op.general">
BipolarQuant (X, scale) => (Y) {
    zero_int = Constant <value_int = 0> ()
    zero = CastLike (zero_int, X)
    one_int = Constant <value_int = 1> ()
    one = CastLike (one_int, X)
    minus = Neg (one)
    positive = GreaterOrEqual (X, zero)
    signs = Where (positive, one, minus)
    Y = Mul (signs, scale)
}
"""
TRUNC = """
<opset_import: ["" : 20], domain: "qonnx.custom_op.general">
Trunc <rounding_mode> (X, scale, zero_point, in_bits, out_bits) => (Y) {
    quotient = Div (X, scale)
    moved = Add (quotient, zero_point)
    codes = Round (moved)
    places = Sub (in_bits, out_bits)
    two_int = Constant <value_int = 2> ()
    two = CastLike (two_int, X)
    divisor = Pow (two, places)
    coarse = Div (codes, divisor)
    floored = Floor (coarse)
    back = Sub (floored, zero_point)
    Y = Mul (back, scale)
}
"""
"""Version 1, rounding FLOOR."""


@dataclass(frozen=True)
class OutputError:
    """The codes of one output against the file's values: how many were compared, how many differ, and by how many steps.

    `rate` is the share that differs; `greatest` the greatest difference in steps of the output's scale.
    """

    name: str
    compared: int
    different: int
    greatest: int

    @property
    def rate(self) -> float:
        """The share of codes that differ."""
        return self.different / self.compared if self.compared else 0.0

    def __str__(self) -> str:
        return (
            f"output `{self.name}`: {self.different} of {self.compared} codes differ from ONNX Runtime "
            f"({self.rate:.3%}), by at most {self.greatest} LSB"
        )


def measure(
    original: str | os.PathLike[str] | onnx.ModelProto,
    program: Program,
    inputs: np.ndarray | Mapping[str, np.ndarray],
    *,
    batch_size: int = 64,
) -> list[OutputError]:
    """Return how the codes of `program` differ from what ONNX Runtime computes with the original file.

    Parameters
    ----------
    original : the file that the program was compiled from, or its ModelProto
    program : Program
    inputs : array [batch, ...] of what the file is fed with (reals, or integers where it takes integers),
        or a dict of them by input name

    Returns
    -------
    list of OutputError
        One for each output, in the program's order.

    Raises
    ------
    ModelError
        If ONNX Runtime refuses the file.
    ShapeError
        If shapes or names do not suit the file, or its outputs have other shapes than the program's.
    """
    feeds = dict(inputs) if isinstance(inputs, Mapping) else {program.inputs[0]: inputs}
    opened = session(runnable(original), optimise=False)
    fixed = [entry.shape[0] for entry in opened.get_inputs() if entry.shape and isinstance(entry.shape[0], int)]
    expected = run(opened, feeds, batch_size=fixed[0] if fixed else batch_size)
    codes = {
        name: values if values.dtype.kind in "iu" else _codes(program, name, values) for name, values in feeds.items()
    }
    result = simulate(program, codes)
    return [_difference(program, name, result.outputs[name], expected[name]) for name in program.outputs]


def _codes(program: Program, name: str, values: np.ndarray) -> np.ndarray:
    """Return the codes of one real input."""
    one = Program((name,), (name,), {name: program.tensors[name]}, (), program.metadata)
    return np.asarray(quantize_input(one, values))


def _difference(program: Program, name: str, codes: np.ndarray, values: np.ndarray) -> OutputError:
    tensor = program.tensors[name]
    if codes.shape != values.shape:
        raise ShapeError(f"output `{name}` of the file has the shape {values.shape}, and the program's {codes.shape}")
    steps = np.array([float(step) for step in tensor.scale.steps])
    if tensor.scale.axis is not None:
        steps = steps.reshape(-1, *[1] * (codes.ndim - 1 - tensor.scale.axis))
    distance = np.abs(np.rint(values.astype(np.float64) / steps) - codes)
    return OutputError(name, codes.size, int(np.count_nonzero(distance)), int(distance.max(initial=0)))


def runnable(original: str | os.PathLike[str] | onnx.ModelProto) -> onnx.ModelProto:
    """Return the model as stock ONNX Runtime can run it: with a body for each op of QONNX that it uses."""
    model = normalised(read_model(original))
    used = {(node.domain, node.op_type) for node in model.graph.node} - {(f.domain, f.name) for f in model.functions}
    known = dict(bodies())
    for text in (BIPOLAR, TRUNC):
        function = onnx.parser.parse_function(text)
        known[function.domain, function.name] = function
    needed = [known[key] for key in sorted(used & set(known))]
    if not needed:
        return model
    model = at_least(model, OPSET)
    version = next(entry.version for entry in model.opset_import if entry.domain == STANDARD)
    for function in needed:
        made = model.functions.add()
        made.CopyFrom(function)
        for entry in made.opset_import:
            entry.version = version if entry.domain == STANDARD else entry.version
    for entry in model.opset_import:
        if entry.domain == QONNX:
            entry.version = DOMAINS[QONNX]
    model.ir_version = max(model.ir_version, 10)
    return model
