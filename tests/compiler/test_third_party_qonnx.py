"""Graphs that other projects publish, rebuilt small with the same constructs; every rate is against ONNX Runtime.

Each test names the project. Where all scales are powers of two and nothing is rounded on the way, every
code is equal. Elsewhere docs/third-party-files.md has what was seen (0 to 17 codes, by 1 LSB); the bounds here
leave room for one code that another CPU's float32 sums turn over in a layer in front, and for what follows.
"""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.compiler import approximations
from tests.compiler.third_party import ThirdParty, assert_exact, measured, reals

LAST = "qonnx.custom_op.channels_last"


class Network(ThirdParty):
    """Layers with seeded weights."""

    def __init__(self, **inputs):
        super().__init__(**inputs)
        self.rng = np.random.default_rng(11)

    def normal(self, *shape):
        return self.rng.normal(0, 0.5, shape).astype(np.float32)

    def norm(self, x, channels, signed=True, **options):
        """A batch norm of uneven gains, of both signs where `signed`."""
        gain = self.rng.uniform(0.5, 1.5, channels) * (self.rng.choice([-1, 1], channels) if signed else 1)
        mean, variance = self.rng.normal(0, 1, channels), self.rng.uniform(0.5, 2, channels)
        parameters = [gain, self.rng.normal(0, 0.5, channels), mean, variance]
        return self.node("BatchNormalization", x, *[self.constant(p) for p in parameters], **options)

    def bipolar(self, x, scale=1.0, **options):
        return self.node("BipolarQuant", x, self.constant(scale), domain="qonnx.custom_op.general", **options)


def jet_tagger():
    """hls4ml, the jet-tagging perceptron as QKeras exports it: 16-64-32-32-5, 6 bits, quantized biases, all powers of two."""
    file = Network(x=(16,))
    x = file.quant("x", 2.0**-10, 16)
    for inputs, outputs in ((16, 64), (64, 32), (32, 32), (32, 5)):
        w = file.weights(file.normal(inputs, outputs), 2.0**-5, 6, narrow=0)
        x = file.node("MatMul", x, w)
        x = file.node("Add", x, file.weights(file.normal(outputs), 2.0**-5, 6, narrow=0))
        if outputs != 5:
            x = file.quant(file.node("Relu", x), 2.0**-4, 6, signed=0, rounding_mode="FLOOR")
    return file.model(x)


def test_jet_tagging_perceptron_of_hls4ml():
    program = assert_exact(jet_tagger(), reals((16,), 128))
    assert not approximations(program)
    assert not [node for node in program.nodes if node.op == "rescale"]


@pytest.mark.parametrize("opset", [9, 13])
def test_fully_connected_binary_network_of_finn(opset):
    """Brevitas and FINN, TFC-w1a1 and LFC: bipolar weights and activations, batch norm of both signs; opset 9 is what they wrote."""
    file = Network(x=(16,))
    x = file.bipolar("x")
    for inputs, outputs in ((16, 24), (24, 24), (24, 10)):
        w = file.bipolar(file.constant(file.normal(inputs, outputs)))
        x = file.norm(file.node("MatMul", x, w), outputs)
        x = file.bipolar(x) if outputs != 10 else x
    model = file.model(file.quant(x, 0.125), opset=opset)
    program, (error,) = measured(model, reals((16,), 512))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.002, str(error)
    assert {str(program.tensors[n.outputs[0]].format) for n in program.nodes if n.op == "sign"} == {"s2"}


def test_small_convolutional_network_of_brevitas():
    """Brevitas CNV-w2a2: convolutions with scales of each channel, batch norm, 2-bit activations, max pooling."""
    file = Network(x=(3, 10, 10))
    x = file.quant("x", 2.0**-7, 8)
    for number, (inputs, outputs) in enumerate(((3, 6), (6, 8))):
        scale = file.rng.uniform(0.2, 0.5, (outputs, 1, 1, 1))
        w = file.weights(file.normal(outputs, inputs, 3, 3), scale, 2)
        x = file.norm(file.node("Conv", x, w, kernel_shape=[3, 3]), outputs)
        x = file.quant(x, 0.713, 2, narrow=1)
        if number == 0:
            x = file.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = file.node("Reshape", x, file.constant([-1, 32], dtype=np.int64))
    x = file.node("MatMul", x, file.weights(file.normal(32, 10), 0.31, 2))
    program, (error,) = measured(file.model(file.quant(x, 0.0123, 16)), reals((3, 10, 10), 64))
    assert error.greatest <= 60, str(error)
    assert error.rate < 0.02, str(error)
    assert {"conv2d", "gain", "rescale", "max_pool2d", "matmul"} <= {node.op for node in program.nodes}


def test_mobile_network_of_brevitas():
    """Brevitas MobileNet-v1 of 4 bits: depthwise convolutions, unsigned activations, and average pooling that truncates."""
    file = Network(x=(3, 8, 8))
    x = file.quant("x", 0.0173, 8)
    channels = 3
    for outputs, group in ((8, 1), (8, 8), (12, 1)):
        shape = (outputs, channels // group, 1 if outputs == 12 else 3, 1 if outputs == 12 else 3)
        w = file.weights(file.normal(*shape), file.rng.uniform(0.05, 0.15, (outputs, 1, 1, 1)), 4)
        pads = {"pads": [1, 1, 1, 1]} if shape[2] == 3 else {}
        x = file.norm(file.node("Conv", x, w, group=group, **pads), outputs)
        x = file.quant(file.node("Relu", x), 0.0917, 4, signed=0)
        channels = outputs
    pooled = file.node("AveragePool", x, kernel_shape=[8, 8])
    summed = file.node("Mul", pooled, file.constant(64.0))
    parameters = [file.constant(v) for v in (0.0917, 0.0, 10, 4)]
    x = file.node("Trunc", summed, *parameters, domain="qonnx.custom_op.general", rounding_mode="FLOOR")
    x = file.node("Flatten", x)
    w = file.weights(file.normal(10, 12), 0.083, 8)
    x = file.node("Gemm", x, w, file.constant(file.normal(10)), transB=1)
    program, (error,) = measured(file.model(file.quant(x, 0.011, 8)), reals((3, 8, 8), 64))
    assert error.greatest <= 20, str(error)
    assert error.rate < 0.03, str(error)
    assert any("bias" in note for note in approximations(program))


def residual(scales, zero_point=0, kind=np.int8):
    """MLPerf Tiny's ResNet-8 as ONNX Runtime's static quantization writes it in the QDQ style."""
    file = Network(x=(3, 8, 8))

    def conv(x, x_scale, inputs, outputs, size, **options):
        codes = file.rng.integers(-127, 128, (outputs, inputs, size, size))
        w_scale = np.resize(np.asarray(scales[1], np.float32), outputs)
        w = file.stored(codes, w_scale, np.zeros(outputs), axis=0)
        step = np.float32(x_scale) * w_scale
        b = file.stored(file.rng.integers(-2000, 2000, outputs), step, np.zeros(outputs), np.int32, axis=0)
        return file.node("Conv", x, w, b, **options)

    def q(x, scale):
        return file.qdq(x, scale, zero_point, kind)

    s = scales[0]
    x = q("x", s[0])
    x = q(file.node("Relu", conv(x, s[0], 3, 4, 3, pads=[1, 1, 1, 1])), s[1])
    y = q(file.node("Relu", conv(x, s[1], 4, 8, 3, pads=[1, 1, 1, 1], strides=[2, 2])), s[2])
    y = q(conv(y, s[2], 8, 8, 3, pads=[1, 1, 1, 1]), s[3])
    z = q(conv(x, s[1], 4, 8, 1, strides=[2, 2]), s[4])
    x = q(file.node("Relu", file.node("Add", y, z)), s[5])
    x = q(file.node("GlobalAveragePool", x), s[6])
    x = file.node("Flatten", x)
    codes = file.rng.integers(-127, 128, (10, 8))
    w = file.stored(codes, np.float32(np.min(scales[1])))
    return file.model(q(file.node("Gemm", x, w, transB=1), s[7]))


def test_residual_network_of_mlperf_tiny_with_powers_of_two():
    scales = [2.0**-5, 2.0**-3, 2.0**-2, 2.0**-1, 2.0**-2, 2.0**-1, 2.0**-2, 2.0**-2], [2.0**-7, 2.0**-8]
    program = assert_exact(residual(scales, 0), reals((3, 8, 8), 64))
    assert not approximations(program)


@pytest.mark.parametrize(("zero_point", "kind"), [(0, np.int8), (130, np.uint8)])
def test_residual_network_of_mlperf_tiny(zero_point, kind):
    scales = [0.031, 0.117, 0.243, 0.51, 0.273, 0.49, 0.21, 0.27], [0.0071, 0.0043, 0.0091]
    program, (error,) = measured(residual(scales, zero_point, kind), reals((3, 8, 8), 128))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.03, str(error)
    assert "add" in {node.op for node in program.nodes}


def channels_last(powers):
    """FINN's CNV after qonnx's conversion to channels last: wrapped convolutions, pooling and batch norm."""
    file = Network(x=(8, 8, 3))
    x = file.quant("x", 2.0**-5 if powers else 0.029, 8)
    for inputs, outputs in ((3, 4), (4, 6)):
        w = file.weights(file.normal(outputs, 3, 3, inputs), 2.0**-3 if powers else 0.11, 4)
        x = file.node("Conv", x, w, domain=LAST, pads=[1, 1, 1, 1], kernel_shape=[3, 3])
        if not powers:
            x = file.norm(x, outputs, domain=LAST, epsilon=1e-5)
        x = file.quant(file.node("Relu", x), 2.0**-2 if powers else 0.13, 4, signed=0)
        x = file.node("MaxPool", x, domain=LAST, kernel_shape=[2, 2], strides=[2, 2])
    x = file.node("MatMul", file.node("Flatten", x), file.weights(file.normal(24, 10), 2.0**-3, 4))
    return file.model(file.quant(x, 2.0**-2, 8))


def test_channels_last_network_of_finn():
    program = assert_exact(channels_last(True), reals((8, 8, 3), 64))
    assert not approximations(program)
    program, (error,) = measured(channels_last(False), reals((8, 8, 3), 64))
    assert error.greatest <= 2, str(error)
    assert error.rate < 0.03, str(error)
    assert "transpose" in {node.op for node in program.nodes}
