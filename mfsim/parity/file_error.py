"""How far a program is from the file that it was compiled from: in steps of each output, against stock ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from mfsim.compiler.frontend.checks import QONNX, STANDARD
from mfsim.compiler.frontend.reader import read_model
from mfsim.compiler.frontend.third_party import at_least, normalised
from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.export.runtime import run, session
from mfsim.ir.program import Program
from mfsim.ops.model_bodies import DOMAINS, OPSET, bodies
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

ROUNDED = {
    "FLOOR": "Y = Floor (X)",
    "CEIL": "Y = Ceil (X)",
    "ROUND": "Y = Round (X)",
    "HALF_EVEN": "Y = Round (X)",
    "DOWN": "s = Sign (X) a = Abs (X) f = Floor (a) Y = Mul (s, f)",
    "ROUND_TO_ZERO": "s = Sign (X) a = Abs (X) f = Floor (a) Y = Mul (s, f)",
}
"""How `Trunc` may round."""


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
    opened = session(_runnable(original), optimise=False)
    expected = _expected(opened, feeds, batch_size)
    codes = {
        name: values if values.dtype.kind in "iu" else _codes(program, name, values) for name, values in feeds.items()
    }
    result = simulate(program, codes)
    return [_difference(program, name, result.outputs[name], expected[name]) for name in program.outputs]


def _expected(opened: Any, feeds: Mapping[str, np.ndarray], batch_size: int) -> dict[str, np.ndarray]:
    """Return the outputs of the file, run in batches of the size that it fixes, if it does."""
    fixed = {entry.shape[0] for entry in opened.get_inputs() if entry.shape and isinstance(entry.shape[0], int)}
    if not fixed:
        return run(opened, feeds, batch_size=batch_size)
    (size,), count = fixed, min(map(len, feeds.values()))
    if count % size:
        raise ShapeError(f"the file works on batches of {size} samples, and {count} are no multiple of that")
    parts = [run(opened, {k: v[i : i + size] for k, v in feeds.items()}) for i in range(0, count, size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


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


def _runnable(original: str | os.PathLike[str] | onnx.ModelProto) -> onnx.ModelProto:
    """Return the model as stock ONNX Runtime can run it: with a body for each op of QONNX that it uses."""
    model = normalised(read_model(original))
    used = {(node.domain, node.op_type) for node in model.graph.node} - {(f.domain, f.name) for f in model.functions}
    known = dict(bodies())
    for text in (BIPOLAR, *_trunc(model)):
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


def _trunc(model: onnx.ModelProto) -> list[str]:
    """Return the body of `Trunc` as the nodes of the model use it: all in one way, or it cannot be one function."""
    ways = set()
    for node in model.graph.node:
        if (node.domain, node.op_type) == (QONNX, "Trunc"):
            given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            ways.add((len(node.input), given.get("rounding_mode", b"FLOOR").decode().upper()))
    if not ways:
        return []
    if len(ways) > 1 or not {mode for _, mode in ways} <= set(ROUNDED):
        raise UnsupportedOpError(f"Trunc can be measured in one form with one rounding of {', '.join(ROUNDED)}")
    ((inputs, mode),) = ways
    parameters = "in_bits, out_bits" if inputs == 5 else "in_bits, out_scale, out_bits"
    divisor = (
        "places = Sub (in_bits, out_bits) two_int = Constant <value_int = 2> () two = CastLike (two_int, X) "
        "divisor = Pow (two, places)"
        if inputs == 5
        else "divisor = Div (out_scale, scale)"
    )
    back = "scale" if inputs == 5 else "out_scale"
    clamp = "kept = Identity (whole)"
    if inputs == 6:
        clamp = """
            one_int = Constant <value_int = 1> () one = CastLike (one_int, X)
            two_int = Constant <value_int = 2> () two = CastLike (two_int, X)
            signed_int = Constant <value_int: int = @signed> () is_signed = CastLike (signed_int, X)
            narrow_int = Constant <value_int: int = @narrow> () is_narrow = CastLike (narrow_int, X)
            magnitude = Sub (out_bits, is_signed) levels = Pow (two, magnitude) not_signed = Sub (one, is_signed)
            cut = Mul (is_narrow, not_signed) top = Sub (levels, one) hi = Sub (top, cut)
            bottom = Neg (levels) raised = Add (bottom, is_narrow) lo = Mul (is_signed, raised)
            least = Max (whole, lo) kept = Min (least, hi)"""
    rounding = ROUNDED[mode].replace("X", "coarse").replace("Y =", "whole =")
    attributes = "rounding_mode" if inputs == 5 else "rounding_mode, signed, narrow"
    return [
        f"""<opset_import: ["" : 20], domain: "{QONNX}">
        Trunc <{attributes}> (X, scale, zero_point, {parameters}) => (Y) {{
            quotient = Div (X, scale) moved = Add (quotient, zero_point) codes = Round (moved)
            {divisor} coarse = Div (codes, divisor)
            {rounding} {clamp}
            offset = {"Identity (zero_point)" if inputs == 5 else "Div (zero_point, divisor)"}
            centred = Sub (kept, offset)
            Y = Mul (centred, {back})
        }}"""
    ]
