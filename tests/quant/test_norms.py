"""Quantized norms: torch, the file in ONNX Runtime and the program give the same codes; they train; they are stored."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.analysis import count
from mfsim.compiler import compile_model
from mfsim.errors import RecipeError
from mfsim.export.exporter import quantized_model
from mfsim.nn import LayerNorm, RMSNorm, ShiftNorm
from mfsim.ops.norm.quant import QuantLayerNorm
from mfsim.quant import Recipe, quantize
from mfsim.quant.nonlinear_base import QuantNonlinear
from mfsim.quant.store import load, save
from tests.compiler.files import assert_like_runtime, runtime

WIDTH = 24
NORMS = {
    "layer_norm": lambda: LayerNorm(WIDTH),
    "layer_norm_recip": lambda: LayerNorm(WIDTH, form="reciprocal"),
    "rms_norm": lambda: RMSNorm(WIDTH, eps=0.0),
    "rms_norm_recip": lambda: RMSNorm(WIDTH, form="reciprocal"),
    "shift_norm_l1": lambda: ShiftNorm(WIDTH),
    "shift_norm_l2": lambda: ShiftNorm(WIDTH, "l2"),
}


def tokens(count=64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 5, 12, generator=generator) * torch.exp(torch.randn(count, 5, 1, generator=generator))


def network(op):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(12, WIDTH), NORMS[op](), nn.Linear(WIDTH, 4))
    with torch.no_grad():
        for parameter in net[1].parameters():
            parameter.add_(torch.randn_like(parameter) / 2)
    return net


@pytest.fixture(scope="module", params=sorted(NORMS))
def made(request):
    """Return (op, float network, quantized network)."""
    net = network(request.param)
    return request.param, net, quantize(net, Recipe(), tokens())


def test_torch_file_and_program_give_the_same_codes(made):
    op, _, quantized = made
    x = torch.cat([tokens(80, 2), torch.zeros(1, 5, 12), tokens(8, 3) * 100])
    model = quantized_model(quantized, x[:2])
    program = assert_like_runtime(model, x.numpy())
    assert op in [node.op for node in program.nodes]
    with torch.no_grad():
        y = quantized(x).numpy()
    (expected,) = runtime(model, {model.graph.input[0].name: x.numpy()}, [model.graph.output[0].name]).values()
    assert np.array_equal(y, expected)


def test_the_norm_is_near_the_float_norm(made):
    op, net, quantized = made
    layer = quantized.model[1]
    assert layer.derived
    with torch.no_grad():
        x = layer.input_quant(net[0](tokens(40, 4)))
        low, high = -128 * layer.y_scale, 127 * layer.y_scale
        error = (layer(x) - layer.function(x)).clamp(low, high).abs() / layer.y_scale
    # Half a code, gamma / 4 (gamma < 3 here) for the root, as much for a reciprocal; float32 moves a few rows over
    # a threshold of a shift norm, which doubles them.
    if op.startswith("shift"):
        assert (error > 0.51).float().mean() < 0.02
    else:
        assert error.max() <= 0.5 + 0.75 * (2 if op.endswith("recip") else 1)


def test_gradients_reach_every_parameter_and_training_moves_the_codes(made):
    op, _, quantized = made
    trained = copy.deepcopy(quantized).train()
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.05)
    before = trained(tokens()).detach()
    for _ in range(3):
        optimizer.zero_grad()
        trained(torch.cat([tokens(), torch.zeros(1, 5, 12)])).square().mean().backward()
        for name, parameter in trained.model[1].named_parameters():
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().max() > 0, name
        optimizer.step()
    after = trained.eval()(tokens()).detach()
    assert after.square().mean() < before.square().mean()
    model = quantized_model(trained, tokens(2))
    assert_like_runtime(model, tokens(20, 6).numpy())
    assert op in [node.op for node in compile_model(model).nodes]


def test_a_stored_network_comes_back(made, tmp_path):
    op, _, quantized = made
    again = load(save(quantized, tmp_path / "network.safetensors"), network(op))
    with torch.no_grad():
        assert torch.equal(again(tokens(9, 5)), quantized(tokens(9, 5)))


def test_weights_of_a_norm_in_front_learn_without_a_gradient_of_the_input():
    net = quantize(nn.Sequential(LayerNorm(12), nn.Linear(12, 3)), Recipe(), tokens())
    net.train()(tokens()).sum().backward()
    assert net.model[0].weight.grad.abs().max() > 0


def test_the_l1_shift_norm_has_no_multiplication_division_or_root():
    quantized = quantize(network("shift_norm_l1"), Recipe(), tokens())
    program = compile_model(quantized_model(quantized, tokens(2)))
    report = count(program)
    assert not [row for row in report.multiplications() if row.op == "shift_norm_l1"]
    squares = count(compile_model(quantized_model(quantize(network("shift_norm_l2"), Recipe(), tokens()), tokens(2))))
    rows = [row for row in squares.multiplications() if row.op == "shift_norm_l2"]
    assert {(row.primitive, row.multiplied_by) for row in rows} == {("mul", "activation")}
    assert sum(row.count for row in rows) == 5 * (WIDTH + 1)


def test_a_gain_that_moves_to_another_power_of_two_is_seen_at_once():
    quantized = quantize(network("shift_norm_l1"), Recipe(), tokens())
    layer = quantized.model[1]
    before = layer.gamma_pow.clone()
    with torch.no_grad():
        layer.log_gain.add_(1)
        quantized(tokens(2))
    assert torch.equal(layer.gamma_pow, 2 * before)


def test_a_bias_that_does_not_fit_its_word_is_refused():
    net = network("layer_norm")
    with torch.no_grad():
        net[1].bias.fill_(1e4)
    layer = QuantLayerNorm(net[1], 8, True)
    layer.y_scale.fill_(2.0**-5)
    with pytest.raises(RecipeError) as caught:
        layer.derive()
    assert str(caught.value) == "the bias of a norm needs more than its 16 bits on the grid 2^-5 of its result"


def test_a_coarse_grid_of_a_shift_norm_is_refused():
    quantized = quantize(network("shift_norm_l1"), Recipe(), tokens())
    layer: QuantNonlinear = quantized.model[1]
    layer.y_scale.fill_(2.0)
    with pytest.raises(RecipeError) as caught:
        layer.derive()
    assert str(caught.value) == "the grid of a shift norm's result must be at most 1, not 2^1"
