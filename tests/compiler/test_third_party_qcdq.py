"""Files in the QCDQ style: QuantizeLinear, perhaps Clip, DequantizeLinear, with any scale and zero point."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.compiler import approximations
from tests.compiler.third_party import ThirdParty, assert_exact, measured, reals

RNG = np.random.default_rng(5)


def perceptron(x_scale, w_scale, y_scale, zero_point=0, kind=np.int8, clip=None, channels=False):
    """Two layers, as Brevitas writes them: activations quantized, weights stored, biases on the accumulator's grid."""
    file = ThirdParty(x=(12,))
    x = file.qdq("x", x_scale, zero_point, kind, clip)
    for name, (inputs, outputs) in {"fc1": (12, 16), "fc2": (16, 5)}.items():
        codes = RNG.integers(-127, 128, (outputs, inputs))
        scale = np.float32(w_scale) * (1 + np.arange(outputs) / 7 if channels else 1)
        scale = np.asarray(scale, dtype=np.float32)
        options = {"axis": 0} if channels else {}
        w = file.stored(codes, scale, np.zeros(scale.shape), **options)
        step = np.asarray(x_scale if name == "fc1" else y_scale, np.float32) * scale
        b = file.stored(
            RNG.integers(-999, 999, outputs), np.broadcast_to(step, (outputs,)), np.zeros(outputs), np.int32, axis=0
        )
        y = file.node("Gemm", x, w, b, transB=1, name=name)
        x = file.qdq(file.node("Relu", y) if name == "fc1" else y, y_scale, zero_point, kind, clip)
    return file.model(x, opset=21)


@pytest.mark.parametrize("clip", [None, (-8, 7), (-7, 7)])
def test_powers_of_two(clip):
    model = perceptron(0.0625, 0.0078125, 0.125, clip=clip)
    program = assert_exact(model, reals((12,)))
    assert not approximations(program)
    assert {node.op for node in program.nodes} == {"matmul", "relu", "requantize"}
    assert program.tensors["x"].format.bits == (4 if clip else 8)


@pytest.mark.parametrize(("zero_point", "kind"), [(128, np.uint8), (3, np.uint8), (-5, np.int8), (10, np.int16)])
def test_zero_points(zero_point, kind):
    model = perceptron(0.0625, 0.0078125, 0.125, zero_point, kind)
    program = assert_exact(model, reals((12,)))
    assert not approximations(program)
    (x, *rest) = program.nodes
    assert x.op == "sub"
    assert not any(node.op == "sub" for node in rest), "one subtraction, at the border"
    assert program.metadata["input.x.zero_point"] == str(zero_point)


@pytest.mark.parametrize("channels", [False, True])
@pytest.mark.parametrize(("zero_point", "kind"), [(0, np.int8), (117, np.uint8)])
def test_free_scales(zero_point, kind, channels):
    model = perceptron(0.0611, 0.0071, 0.127, zero_point, kind, channels=channels)
    program, (error,) = measured(model, reals((12,), 512))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.01, str(error)
    assert len(approximations(program)) >= 2
