"""Each rule: the program computes what ONNX Runtime computes, in every tensor, without tolerance.

All values are small multiples of powers of two, so float32 is exact and no tolerance is needed.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.files import File, assert_like_runtime, images


def ops(program):
    return [node.op for node in program.nodes]


def unary(op, *constants, shape=(3, 4), domain="", dtype=np.float32, **attributes):
    """A file with one op behind the input's quantizer."""
    file = File(x=shape)
    inputs = [file.constant(c, dtype=dtype) if c is not None else "" for c in constants]
    return file.model(file.node(op, file.quant("x"), *inputs, domain=domain, layer="net.layer", **attributes))


def ints(*values):
    return np.array(values, dtype=np.int64)


UNARY = {
    "relu": (unary("Relu"), ["relu"]),
    "neg": (unary("Neg"), ["neg"]),
    "abs": (unary("Abs"), ["abs"]),
    "sign": (unary("Sign"), ["sign"]),
    "clip": (unary("Clip", -1.5, 2.25), ["clip"]),
    "clip-low": (unary("Clip", -1.5), ["clip"]),
    "clip-high": (unary("Clip", None, 0.0), ["clip"]),
    "clip-nothing": (unary("Clip", -100, 100), ["clip"]),
    "max": (unary("Max", 0.5), ["clip"]),
    "max-past-the-range": (unary("Max", 100.0), ["clip"]),
    "min": (unary("Min", 0.5), ["clip"]),
    "min-past-the-range": (unary("Min", -100.0), ["clip"]),
    "transpose": (unary("Transpose", shape=(2, 3, 4), perm=[0, 3, 1, 2]), ["transpose"]),
    "flatten": (unary("Flatten", shape=(2, 3, 4)), ["flatten"]),
    "flatten-negative-axis": (unary("Flatten", shape=(2, 3, 4), axis=-3), ["flatten"]),
    "flatten-ones": (unary("Flatten", shape=(1, 3, 4), axis=2), ["flatten"]),
    "reshape": (unary("Reshape", ints(0, 2, -1), dtype=np.int64), ["reshape"]),
    "reshape-inferred-batch": (unary("Reshape", ints(-1, 2, 6), dtype=np.int64), ["reshape"]),
    "reshape-copies": (unary("Reshape", ints(0, 0, 2, 2), dtype=np.int64), ["reshape"]),
    "squeeze": (unary("Squeeze", ints(2, -1), shape=(3, 1, 2, 1), dtype=np.int64), ["reshape"]),
    "unsqueeze": (unary("Unsqueeze", ints(1, -1), dtype=np.int64), ["reshape"]),
    "slice": (unary("Slice", ints(1, -3), ints(2**62, -1), ints(1, 2), dtype=np.int64), ["slice"]),
    "slice-steps": (unary("Slice", ints(0), ints(99), ints(2), ints(3), dtype=np.int64), ["slice"]),
    "slice-backwards": (
        unary("Slice", ints(99, 1), ints(-(2**62), -9), ints(1, 2), ints(-1, -1), dtype=np.int64),
        ["slice"],
    ),
    "slice-batch-whole": (unary("Slice", ints(0, 0), ints(2**62, 2), ints(0, 1), dtype=np.int64), ["slice"]),
    "shift": (unary("Shift", [[2.0], [0.25], [1.0]], domain="org.mfsim"), ["shift"]),
    "mul": (unary("Mul", 0.25), ["shift"]),
    "div": (unary("Div", [[2.0], [0.25], [1.0]]), ["shift"]),
    "add-constant": (unary("Add", [[0.5], [-1.0], [7.0]]), ["add"]),
    "add-constant-with-batch-axis": (unary("Add", np.full((1, 3, 4), 0.25)), ["add"]),
    "sub-constant": (unary("Sub", 0.5), ["sub"]),
    "pool": (unary("MaxPool", shape=(2, 5, 6), kernel_shape=[2, 3], strides=[1, 2], pads=[1, 0, 0, 1]), ["max_pool2d"]),
    "sum-pool": (
        unary("SumPool", shape=(2, 4, 5), kernel_shape=[2, 4], strides=[1, 2], pads=[1, 0, 0, 1], domain="org.mfsim"),
        ["sum_pool2d"],
    ),
    "average-pool": (unary("AveragePool", shape=(2, 4, 6), kernel_shape=[2, 2], strides=[2, 2]), ["sum_pool2d"]),
    "global-average-pool": (unary("GlobalAveragePool", shape=(2, 4, 8)), ["sum_pool2d"]),
    "mean": (unary("ReduceMean", ints(-1, 2), shape=(2, 4, 8), dtype=np.int64, keepdims=0), ["sum_pool2d", "reshape"]),
    "wht": (
        unary("WHT", shape=(3, 8), domain="org.mfsim", block=0, dims=1, order="sequency", norm="shift", inverse=0),
        ["wht"],
    ),
    "wht-2d": (
        unary("WHT", shape=(4, 8), domain="org.mfsim", block=4, dims=2, order="natural", norm="none", inverse=1),
        ["wht"],
    ),
    "soft-threshold": (unary("SoftThreshold", [[0.5], [0.0], [2.0]], domain="org.mfsim"), ["soft_threshold"]),
    "accumulator": (
        unary("Accumulator", 2.0**-4, 5, domain="org.mfsim", overflow="saturate", signed=1),
        ["accumulator"],
    ),
    "accumulator-wrap": (
        unary("Accumulator", 2.0**-4, 6, domain="org.mfsim", overflow="wrap", signed=0),
        ["accumulator"],
    ),
    "identity": (unary("Identity"), ["shift"]),
    "cast": (unary("Cast", to=1), ["shift"]),
}


@pytest.mark.parametrize("name", UNARY)
def test_rule(name):
    model, expected = UNARY[name]
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim][1:]
    program = assert_like_runtime(model, images(shape))
    assert ops(program) == expected
    if expected != ["shift"] or name == "shift":
        assert {node.layer for node in program.nodes} == {"net.layer"}


@pytest.mark.parametrize("value", [0.0, -1.5])
def test_pad(value):
    file = File(x=(2, 3))
    pads, axes = file.constant([1, 2], dtype=np.int64), file.constant([-1], dtype=np.int64)
    model = file.model(file.node("Pad", file.quant("x"), pads, file.constant(value), axes))
    program = assert_like_runtime(model, images((2, 3)))
    assert program.nodes[0].attributes["pads"] == (0, 0, 1, 0, 0, 2)
    assert program.nodes[0].attributes["value"] == value * 16


def test_table():
    file = File(x=(5,))
    codes = np.random.default_rng(1).integers(-128, 128, 100)
    table = [
        file.constant(2.0**-4),
        file.constant(codes, dtype=np.int64),
        file.constant(-40, dtype=np.int64),
        file.constant(2.0**-7),
    ]
    model = file.model(file.mf("Table", file.quant("x"), *table))
    program = assert_like_runtime(model, images((5,)))
    assert program.nodes[0].attributes["first"] == -40


@pytest.mark.parametrize("mode", ["ROUND", "FLOOR", "CEIL", "DOWN", "HALF_UP"])
@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("narrow", [0, 1])
def test_quant_of_an_activation(mode, signed, narrow):
    file = File(x=(40,))
    first = file.quant("x", -4, 8)
    model = file.model(file.quant(first, -2, 4, signed=signed, narrow=narrow, rounding_mode=mode))
    program = assert_like_runtime(model, images((40,)))
    assert ops(program) == (["requantize", "clip"] if narrow and not signed else ["requantize"])


def test_quant_of_each_channel():
    file = File(x=(3, 4))
    gained = file.mf("Shift", file.quant("x"), file.constant([[2.0], [0.25], [1.0]]))
    model = file.model(file.quant(gained, -3, 5), file.quant(gained, [[-1], [-6], [-4]], 6))
    program = assert_like_runtime(model, images((3, 4)))
    assert program.tensors[program.outputs[1]].scale.exponents == (-1, -6, -4)


@pytest.mark.parametrize("op", ["Add", "Sub"])
def test_sum_of_two_activations_is_aligned(op):
    file = File(x=(3, 4))
    x = file.quant("x")
    model = file.model(file.node(op, x, file.quant(x, -2, 4)))
    program = assert_like_runtime(model, images((3, 4)))
    assert program.nodes[-1].attributes["shift_b"] == 2


def test_constant_less_an_activation():
    file = File(x=(3, 4))
    model = file.model(file.node("Sub", file.constant([[0.5], [-1.0], [7.0]]), file.quant("x")))
    assert ops(assert_like_runtime(model, images((3, 4)))) == ["neg", "add"]


@pytest.mark.parametrize("op", ["ReduceMean", "Sub", "Quant"])
def test_rule_of_two_nodes_where_node_and_output_have_one_name(op):
    file = File(x=(2, 4, 4))
    x = file.quant("x")
    if op == "ReduceMean":
        made = file.node(op, x, file.constant([2, 3], dtype=np.int64), keepdims=0, name="y", output="y")
    elif op == "Sub":
        made = file.node(op, file.constant(0.5), x, name="y", output="y")
    else:
        made = file.quant(x, bits=4, signed=0, narrow=1, name="y", output="y")
    assert len(assert_like_runtime(file.model(made), images((2, 4, 4))).nodes) == 2


def test_concat():
    file = File(x=(3, 4))
    x = file.quant("x")
    model = file.model(file.node("Concat", x, file.quant(x, -2, 4), axis=-1))
    assert assert_like_runtime(model, images((3, 4))).nodes[-1].attributes["axis"] == 2


def test_two_inputs():
    file = File(x=(3, 4), y=(3, 4))
    model = file.model(file.node("Add", file.quant("x", -4, 8), file.quant("y", -3, 6, signed=0)))
    program = assert_like_runtime(model, {"x": images((3, 4)), "y": images((3, 4), seed=1)})
    assert program.inputs == ("x", "y")


def test_input_that_is_moved_before_its_quant():
    file = File(x=(2, 3, 4))
    flat = file.node("Flatten", file.node("Transpose", file.node("Identity", "x"), perm=[0, 2, 3, 1]))
    model = file.model(file.node("Relu", file.quant(flat)))
    program = assert_like_runtime(model, images((2, 3, 4)))
    assert ops(program) == ["transpose", "flatten", "relu"]
    assert program.tensors["x"].shape == (1, 2, 3, 4)


def test_two_equal_quantizers_of_an_input():
    file = File(x=(4,))
    model = file.model(file.node("Add", file.quant("x"), file.quant("x")))
    assert ops(assert_like_runtime(model, images((4,)))) == ["add"]


def test_reshape_to_a_shape_with_the_batch_size_computed_from_the_input():
    file = File(x=(2, 6))
    size = file.node("Squeeze", file.node("Shape", "x", start=0, end=1))
    first = file.node("Reshape", size, file.constant([-1], dtype=np.int64), allowzero=0)
    shape = file.node("Concat", first, file.constant([3, -1], dtype=np.int64), axis=0)
    model = file.model(file.node("Reshape", file.quant("x"), shape, allowzero=1))
    program = assert_like_runtime(model, images((2, 6)))
    assert program.nodes[0].attributes["shape"] == (3, 4)


def test_fixed_batch_size_is_not_part_of_the_program():
    file = File(x=(2, 6))
    model = file.model(file.node("Reshape", file.quant("x"), file.constant([17, 12], dtype=np.int64)), batch=17)
    program = assert_like_runtime(model, images((2, 6)))
    assert program.tensors[program.outputs[0]].shape == (1, 12)


def test_float_cast_of_a_bound():
    file = File(x=(4,))
    x = file.quant("x")
    bound = file.node("CastLike", file.constant(1, dtype=np.int64), x)
    assert ops(assert_like_runtime(file.model(file.node("Max", x, bound)), images((4,)))) == ["clip"]
