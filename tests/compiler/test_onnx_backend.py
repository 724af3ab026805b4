"""ONNX's own node tests (package `onnx`, made when they are collected), for every op that the reader takes.

A test runs where the result is exact: all its values are integers, or lie on a power-of-two grid. Random
values are rounded to the grid 2^-4 first, and the expected outputs are then those of ONNX's reference
evaluator. Each float activation is fed through a Quant that loses nothing, weights become quantized
constants, and every output must be equal. Axis 0 is the batch, so a test that works along it does not
apply. `LEAST` says how many tests of each op run, so that none falls away unseen.
"""

from __future__ import annotations

import collections
import functools
import warnings

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mfsim.compiler import approximations, compile_model
from mfsim.compiler.lower.steps import RULES, THIRD_PARTY_RULES
from mfsim.errors import MfsimError
from mfsim.simulate import dequantized, quantize_input, simulate
from tests.compiler.files import QONNX

OPS = sorted({op for domain, op in {**RULES, **THIRD_PARTY_RULES} if domain == ""})
WEIGHTED = {"Conv": (1, 2), "Gemm": (1, 2), "MatMul": (1,)}
"""Inputs that are weights or a bias."""
FED = {"Concat": range(1, 9), "Add": (1,), "Sub": (1,), "MatMul": (1,), "QLinearMatMul": (3,)}
"""Inputs that are activations too, where they have as many axes as the first (for products: more than two)."""
ROUNDED = 2.0**-4


class DoesNotApplyError(Exception):
    """Why a test of ONNX does not apply."""


@functools.cache
def collected():
    """Return the tests of one node whose op has a rule, by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)
    found = {}
    for test in tests:
        nodes = test.model.graph.node
        if len(nodes) == 1 and nodes[0].domain in ("", "ai.onnx") and nodes[0].op_type in OPS:
            found[test.name] = test
    return found


def grid_of(values: np.ndarray) -> tuple[int, int]:
    """Return exponent and bits of the coarsest power-of-two grid, down to 2^-16, that holds float values exactly."""
    for exponent in range(0, -17, -1):
        codes = np.ldexp(values.astype(np.float64), -exponent)
        if (codes == np.rint(codes)).all():
            bits = max(2, int(np.abs(codes).max(initial=0)).bit_length() + 1)
            if bits > 24:
                raise DoesNotApplyError("values of more than 24 bits")
            return exponent, bits
    raise DoesNotApplyError("values on no power-of-two grid")


def array_of(value):
    """Return the data of a test as an array."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise DoesNotApplyError("values that are no tensors")
    return np.asarray(value)


def data_of(test):
    """Return inputs and expected outputs, with values that lie on power-of-two grids."""
    inputs, outputs = ([array_of(value) for value in values] for values in test.data_sets[0])
    if not inputs or inputs[0].ndim == 0:
        raise DoesNotApplyError("no batch axis")
    if not is_integer(inputs[0]) and inputs[0].dtype != np.float32:
        raise DoesNotApplyError(f"activations of {inputs[0].dtype.name}")
    if not all(np.isfinite(a.astype(np.float64)).all() for a in inputs):
        raise DoesNotApplyError("values that are not finite")
    (node,) = test.model.graph.node
    rounded = [on_grid(a) if is_fed(node, k, inputs) or is_weight(node, k) else a for k, a in enumerate(inputs)]
    if any(a is not b for a, b in zip(inputs, rounded, strict=True)):
        names = [info.name for info in test.model.graph.input]
        outputs = ReferenceEvaluator(test.model).run(None, dict(zip(names, rounded, strict=True)))
    return rounded, outputs


def is_integer(values):
    """Whether an array holds integers, of few bits too."""
    return values.dtype.name.startswith(("int", "uint"))


def is_weight(node, k):
    """Whether input `k` is quantized as a constant."""
    return k in WEIGHTED.get(node.op_type, ())


def is_fed(node, k, inputs):
    """Whether input `k` is an activation."""
    products = "MatMul" in node.op_type
    return k == 0 or (
        k in FED.get(node.op_type, ()) and inputs[k].ndim == inputs[0].ndim and not (products and inputs[k].ndim < 3)
    )


def on_grid(values):
    """Return float values that lie on no power-of-two grid of few bits rounded to one; all others as they are."""
    if values.dtype != np.float32:
        return values
    try:
        grid_of(values)
    except DoesNotApplyError:
        return (np.rint(values / ROUNDED) * ROUNDED).astype(np.float32)
    return values


def model_of(test, inputs):
    """Return a file with the test's node, its activations quantized without loss, and the names that it is fed with."""
    (node,) = test.model.graph.node
    infos, constants, nodes, names = [], [], [], list(node.input)
    if not {info.name for info in test.model.graph.input} <= set(names):
        raise DoesNotApplyError("inputs that the node does not read")
    for place, (info, values) in enumerate(zip(test.model.graph.input, inputs, strict=True)):
        activation = is_fed(node, place, inputs)
        if activation:
            kind = info.type.tensor_type.elem_type
            infos.append(helper.make_tensor_value_info(info.name, kind, values.shape))
        else:
            constants.append(numpy_helper.from_array(values, info.name))
        plain = not activation and not is_weight(node, place)
        if plain or is_integer(values) or node.op_type == "QuantizeLinear":
            continue
        exponent, bits = grid_of(values)
        parts = {"scale": 2.0**exponent, "zero": 0.0, "bits": float(bits)}
        constants += [numpy_helper.from_array(np.float32(v), f"{info.name}.{part}") for part, v in parts.items()]
        quant = [info.name, *(f"{info.name}.{part}" for part in parts)]
        nodes.append(
            helper.make_node("Quant", quant, [f"{info.name}.q"], f"q{place}", domain=QONNX, signed=1, narrow=0)
        )
        names = [f"{info.name}.q" if name == info.name else name for name in names]
    made = onnx.NodeProto()
    made.CopyFrom(node)
    made.name = "node"
    del made.input[:]
    made.input.extend(names)
    graph = helper.make_graph([*nodes, made], "test", infos, list(test.model.graph.output), constants)
    version = min(26, next(entry.version for entry in test.model.opset_import if entry.domain == ""))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version), helper.make_opsetid(QONNX, 1)])
    return model, [info.name for info in infos]


def run(test):
    """Compile the test's file, simulate it, and compare every output; `DoesNotApplyError` says why it does not apply."""
    inputs, outputs = data_of(test)
    model, fed = model_of(test, inputs)
    try:
        program = compile_model(model)
    except MfsimError as error:
        raise DoesNotApplyError(f"refused: {error}") from error
    steps = 1 if approximations(program) else 0
    feeds = {info.name: array for info, array in zip(test.model.graph.input, inputs, strict=True) if info.name in fed}
    reals = {name: array for name, array in feeds.items() if not is_integer(array)}
    codes = {name: array.astype(np.int64) for name, array in feeds.items() if name not in reals}
    if reals:
        assert not codes, "a test has real and integer activations"
        codes = quantize_input(program, reals)
    values = dequantized(program, simulate(program, codes, threads=1).outputs)
    for info, expected in zip(test.model.graph.output, outputs, strict=True):
        if info.name in values:
            expected, found = array_of(expected), values[info.name]
            assert found.shape == expected.shape
            if expected.dtype == np.float32:
                found = found.astype(np.float32)
            distance = np.abs(found - expected.astype(found.dtype))
            allowed = steps * float(max(program.tensors[info.name].scale.steps))
            assert distance.max(initial=0) <= allowed, f"{(distance > allowed).sum()} of {found.size} values differ"


LEAST = {
    "Abs": 1,
    "Add": 7,
    "AveragePool": 5,
    "BatchNormalization": 2,
    "Cast": 8,
    "CastLike": 4,
    "Clip": 11,
    "Concat": 6,
    "Conv": 6,
    "ConvInteger": 2,
    "DequantizeLinear": 7,
    "Div": 1,
    "Dropout": 4,
    "Flatten": 3,
    "Gather": 1,
    "Gemm": 6,
    "GlobalAveragePool": 2,
    "Identity": 3,
    "MatMul": 3,
    "MatMulInteger": 1,
    "MaxPool": 10,
    "Mul": 1,
    "Neg": 2,
    "Pad": 3,
    "QLinearConv": 1,
    "QLinearMatMul": 8,
    "QuantizeLinear": 3,
    "Relu": 1,
    "Reshape": 6,
    "Sign": 1,
    "Slice": 2,
    "Split": 5,
    "Squeeze": 1,
    "Sub": 8,
    "Transpose": 2,
    "Unsqueeze": 6,
}
"""How many tests of each op run, with the package onnx 1.23.2."""

NONE = {
    "Max": "a bound must be one number",
    "Min": "a bound must be one number",
    "ReduceMean": "only the last two of four axes can be averaged",
    "Shape": "graph output `y` is constant",
}
"""Ops of which no test applies, and why not."""


@pytest.mark.parametrize("op", OPS)
def test_node_tests_of_onnx(op):
    ran, reasons = 0, collections.Counter()
    for test in collected().values():
        if test.model.graph.node[0].op_type == op:
            try:
                run(test)
                ran += 1
            except DoesNotApplyError as reason:
                reasons[str(reason)] += 1
    if op in NONE:
        assert not ran
        assert any(NONE[op] in reason for reason in reasons)
    else:
        assert ran >= LEAST[op] > 0, f"{ran} ran; the others: {reasons}"


def test_number_of_tests_that_run():
    assert set(LEAST) | set(NONE) == set(OPS)
    assert sum(LEAST.values()) >= 130
