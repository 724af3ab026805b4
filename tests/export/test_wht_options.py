"""Walsh-Hadamard layers with a learned scale and a smooth threshold: every form gives the same codes, all is named."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.analysis import count
from mfsim.compiler import compile_model
from mfsim.errors import UnsupportedOpError
from mfsim.export.check import check
from mfsim.export.exporter import float_model, quantized_model
from mfsim.nn import MFConv2d, MFLinear, Scaling, Shift, ShiftBatchNorm2d, SmoothThreshold, WHTLayer
from mfsim.quant import Recipe, fold, load, quantize, save
from mfsim.simulate import quantize_input, simulate
from tests.bits import assert_bit_equal
from tests.quant.networks import images, settled


def network(**options):
    plane = (8, 8) if options.get("over") == "plane" else None
    layer = WHTLayer(4, plane, **options)
    model = nn.Sequential(
        MFConv2d(1, 4, 3, padding=1, bias=False), ShiftBatchNorm2d(4), layer, nn.Flatten(), MFLinear(256, 5)
    )
    if isinstance(layer.scaling, Scaling):
        with torch.no_grad():
            layer.scaling.weight.add_(torch.linspace(-1, 1.5, layer.scaling.size).reshape(layer.scaling.weight.shape))
    return settled(model)


@pytest.mark.parametrize("over", ["channels", "plane"])
@pytest.mark.parametrize(
    ("options", "multiplied"),
    [
        ({"scaling": "shift", "order": "dyadic"}, {}),
        ({"scaling": "multiply"}, {"learned": 256}),
        ({"smooth": True}, {"activation": 256}),
        ({"smooth": True, "scaling": "multiply"}, {"activation": 256, "learned": 256}),
    ],
)
def test_every_form_gives_the_same_codes(over, options, multiplied, tmp_path):
    model = network(over=over, **options)
    folded = fold(model, images(4))
    quantized = quantize(folded, Recipe(), images())
    file = quantized_model(quantized, images(4))
    report = check(folded, quantized, float_model(folded, images(4)), file, images(64, 5))
    assert report.passed, report.reasons
    program = compile_model(file)
    (entry,), (result,) = program.inputs, program.outputs
    codes = quantize_input(program, images(64, 5).numpy())
    simulated = simulate(program, {entry: codes}).outputs[result]
    with torch.no_grad():
        expected = quantized(images(64, 5)).double().numpy() / 2.0 ** program.tensors[result].scale.exponent
    assert_bit_equal(simulated, expected.astype(np.int64), result)
    found = {}
    for row in count(program).online:
        if row.primitive == "mul":
            found[row.multiplied_by] = found.get(row.multiplied_by, 0) + row.count
    assert found == multiplied
    save(quantized, tmp_path / "network")
    again = load(tmp_path / "network", model)
    with torch.no_grad():
        assert torch.equal(again(images(8, 6)), quantized(images(8, 6)))


def test_a_scale_of_powers_of_two_folds_into_a_shift():
    model = network(scaling="shift")
    with torch.no_grad():
        model[2].scaling.weight.copy_(torch.tensor([-1.0, -0.4, 0.6, 1.5]))
    folded = fold(model, images(4))
    assert isinstance(folded[2].scaling, Shift)
    assert folded[2].scaling.exponents == (-1, 0, 1, 2)  # halves to even
    with pytest.raises(UnsupportedOpError) as error:
        quantize(model[2], Recipe(), torch.randn(4, 4, 8, 8))
    assert str(error.value) == "layer `scaling` (Scaling) must be folded before quantization; call fold first"


def test_the_smooth_threshold_is_its_equation():
    layer, x = SmoothThreshold(3, initial=0.5), torch.tensor([[-2.0, 0.3, 0.75], [0.5, -0.25, 40.0]])
    assert torch.equal(layer(x), torch.tanh(x) * (x.abs() - 0.5).clamp(min=0))
    layer(x).sum().backward()
    assert layer.threshold.weight.grad.abs().sum() > 0


def test_gains_have_gradients():
    for kind in ("multiply", "shift"):
        layer = Scaling(3, kind=kind)
        layer(torch.tensor([[1.0, 2.0, 4.0]])).sum().backward()
        wanted = torch.tensor([1.0, 2.0, 4.0]) * (1 if kind == "multiply" else np.log(2))
        # 1e-6: a product and a logarithm in float32.
        assert torch.allclose(layer.weight.grad, wanted, rtol=1e-6, atol=0)
