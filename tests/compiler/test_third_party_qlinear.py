"""Products of stored integers: QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger, and codes between quantizers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from mfsim.compiler import approximations
from tests.compiler.third_party import ThirdParty, assert_exact, measured, reals

RNG = np.random.default_rng(7)
BYTES = {"x": TensorProto.UINT8}


def convolutions(x_scale, w_scale, y_scale, zero_point=0, w_zero=0):
    """An image network as static quantization writes it with operators: quantize, two QLinearConv, a pool, a QLinearMatMul."""
    file = ThirdParty(x=(3, 6, 6))
    x, (s, z) = file.codes("x", x_scale, zero_point, np.uint8)
    for number, (inputs, outputs) in enumerate(((3, 4), (4, 6))):
        w = file.constant(RNG.integers(-127, 128, (outputs, inputs, 3, 3)), dtype=np.int8)
        scale = file.constant(w_scale if np.ndim(w_scale) == 0 else np.resize(w_scale, outputs))
        zero = file.constant(np.full(() if np.ndim(w_scale) == 0 else outputs, w_zero), dtype=np.int8)
        bias = file.constant(RNG.integers(-5000, 5000, outputs), dtype=np.int32)
        out = [file.constant(y_scale), file.constant(zero_point, dtype=np.uint8)]
        x = file.node("QLinearConv", x, s, z, w, scale, zero, *out, bias, pads=[1, 1, 1, 1], name=f"conv{number}")
        s, z = out
    x = file.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = file.node("Flatten", x)
    w = [
        file.constant(RNG.integers(-127, 128, (54, 5)), dtype=np.int8),
        file.constant(np.float32(0.0078125)),
        file.constant(w_zero, dtype=np.int8),
    ]
    out = [file.constant(np.float32(y_scale) * 8), file.constant(zero_point, dtype=np.uint8)]
    x = file.node("QLinearMatMul", x, s, z, *w, *out)
    return file.model(file.node("DequantizeLinear", x, *out))


@pytest.mark.parametrize(("zero_point", "w_zero"), [(0, 0), (128, 0), (7, 0)])
def test_powers_of_two(zero_point, w_zero):
    program = assert_exact(convolutions(0.03125, 0.0078125, 0.125, zero_point, w_zero), reals((3, 6, 6), step=0.03125))
    assert not approximations(program)
    assert [node.op for node in program.nodes].count("sub") == (zero_point != 0)


@pytest.mark.parametrize("w_scale", [0.0071, [0.0071, 0.0034, 0.0111]])
def test_free_scales(w_scale):
    program, (error,) = measured(convolutions(0.031, w_scale, 0.117, 121), reals((3, 6, 6), 256, step=0.031))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.02, str(error)
    assert {node.op for node in program.nodes} >= {"rescale", "conv2d", "max_pool2d", "flatten", "matmul"}


def test_codes_in_and_out():
    file = ThirdParty(x=(2, 5, 5))
    w = file.constant(RNG.integers(-8, 8, (3, 2, 3, 3)), dtype=np.int8)
    x_scale, x_zero = file.constant(0.5), file.constant(7, dtype=np.uint8)
    w_scale, w_zero = file.constant(0.25), file.constant(0, dtype=np.int8)
    out = [file.constant(4.0), file.constant(9, dtype=np.uint8)]
    y = file.node("QLinearConv", "x", x_scale, x_zero, w, w_scale, w_zero, *out, pads=[1, 1, 1, 1])
    model = file.model(y, kinds=BYTES | {y: TensorProto.UINT8})
    program = assert_exact(model, RNG.integers(0, 256, (32, 2, 5, 5), dtype=np.uint8))
    assert str(program.tensors["x"].format) == "u8"
    assert (program.tensors[y].range.low, program.tensors[y].range.high) == (0, 255)


@pytest.mark.parametrize("op", ["ConvInteger", "MatMulInteger"])
@pytest.mark.parametrize("zeros", [(0, 0), (200, 3)])
def test_integer_products(op, zeros):
    """Accumulators of integers, cast to real numbers and scaled by hand."""
    conv = op == "ConvInteger"
    file = ThirdParty(x=(2, 5, 5) if conv else (6,))
    w = file.constant(RNG.integers(0, 256, (3, 2, 3, 3) if conv else (6, 4)), dtype=np.uint8)
    zero = [file.constant(zeros[0], dtype=np.uint8), file.constant(zeros[1], dtype=np.uint8)]
    acc = file.node(op, "x", w, *zero, **({"pads": [1, 1, 1, 1]} if conv else {}))
    y = file.node("Mul", file.node("Cast", acc, to=1), file.constant(0.0009765625))
    y = file.qdq(y, 0.25, 128, np.uint8)
    codes = RNG.integers(0, 256, (32, *((2, 5, 5) if conv else (6,))), dtype=np.uint8)
    assert not approximations(assert_exact(file.model(y, kinds=BYTES), codes))


def test_codes_between_quantizers_are_moved():
    file = ThirdParty(x=(2, 4, 4))
    x, parameters = file.codes("x", 0.25, 100, np.uint8)
    x = file.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    a = file.node("Transpose", x, perm=[0, 2, 3, 1])
    b = file.node("Slice", a, *[file.constant([v], dtype=np.int64) for v in (0, 1, 1)])
    c = file.node("Concat", a, b, axis=1)
    d = file.node("Reshape", c, file.constant([0, -1], dtype=np.int64))
    program = assert_exact(file.model(file.node("DequantizeLinear", d, *parameters)), reals((2, 4, 4)))
    assert [node.op for node in program.nodes[:-1]] == ["sub", "max_pool2d", "transpose", "slice", "concat", "reshape"]
    assert program.nodes[-1].op == "shift", "the name of the output"


def test_dequantized_with_another_zero_point_and_scale():
    file = ThirdParty(x=(4,))
    codes, _ = file.codes("x", 0.25, 100, np.uint8)
    y = file.node("DequantizeLinear", codes, file.constant(0.3), file.constant(90, dtype=np.uint8))
    program = assert_exact(file.model(y), reals((4,)))
    assert [node.op for node in program.nodes[:-1]] == ["sub", "sub", "gain"]


def test_padding_of_stored_codes():
    file = ThirdParty(x=(1, 3, 3))
    codes, parameters = file.codes("x", 0.25, 100, np.uint8)
    pads = file.constant([0, 0, 1, 1, 0, 0, 1, 1], dtype=np.int64)
    padded = file.node("Pad", codes, pads, parameters[1])
    assert_exact(file.model(file.node("DequantizeLinear", padded, *parameters)), reals((1, 3, 3)))
