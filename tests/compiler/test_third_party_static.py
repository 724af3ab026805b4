"""Files that ONNX Runtime's own static quantization writes, in its QDQ format."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from tests.compiler.third_party import ThirdParty, measured, reals


class Images(CalibrationDataReader):
    """Random images, eight at a time."""

    def __init__(self):
        self.batches = iter(reals((3, 8, 8), 64, seed=4).reshape(8, 8, 3, 8, 8))

    def get_next(self):
        batch = next(self.batches, None)
        return None if batch is None else {"x": batch}


def network():
    """A residual network in float32."""
    rng = np.random.default_rng(2)
    file = ThirdParty(x=(3, 8, 8))

    def conv(x, inputs, outputs, **options):
        w, b = rng.normal(0, 0.3, (outputs, inputs, 3, 3)), rng.normal(0, 0.2, outputs)
        return file.node("Conv", x, file.constant(w), file.constant(b), pads=[1, 1, 1, 1], **options)

    x = file.node("Relu", conv("x", 3, 8))
    y = conv(file.node("Relu", conv(x, 8, 8)), 8, 8)
    x = file.node("Relu", file.node("Add", x, y))
    x = file.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = file.node("Flatten", file.node("GlobalAveragePool", x))
    w, b = file.constant(rng.normal(0, 0.3, (8, 10))), file.constant(rng.normal(0, 0.1, 10))
    return file.model(file.node("Gemm", x, w, b))


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_qdq(tmp_path, per_channel, symmetric):
    onnx.save(network(), tmp_path / "float.onnx")
    kind = QuantType.QInt8 if symmetric else QuantType.QUInt8
    quantize_static(
        tmp_path / "float.onnx",
        tmp_path / "static.onnx",
        Images(),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        activation_type=kind,
        weight_type=QuantType.QInt8,
        extra_options={"ActivationSymmetric": symmetric},
    )
    _, (error,) = measured(onnx.load(tmp_path / "static.onnx"), reals((3, 8, 8), 64, seed=5))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.02, str(error)
