"""Quantized softmax and tanh-l1: torch, the file in ONNX Runtime, the program and integer.onnx give the same codes."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.analysis import count
from mfsim.compiler import compile_model
from mfsim.export.exporter import quantized_model
from mfsim.export.runtime import session
from mfsim.nn import Softmax, TanhL1
from mfsim.quant import Recipe, quantize
from mfsim.quant.store import load, save
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input, simulate
from tests.compiler.files import assert_like_runtime, runtime
from tests.serialize.running import run_session

WIDTH = 12
LAYERS = {
    "softmax": lambda: Softmax(0.5),
    "softmax causal": lambda: Softmax(0.5, causal=True),
    "softmax_recip": lambda: Softmax(form="reciprocal"),
    "softmax_shift": lambda: Softmax(0.3, "shift"),
    "softmax_shift causal": lambda: Softmax(0.3, "shift", causal=True),
    "softmax_log": lambda: Softmax(form="log"),
    "softmax_log causal": lambda: Softmax(0.5, "log", causal=True),
    "tanh_l1": lambda: TanhL1(0.5),
    "tanh_l1 causal": lambda: TanhL1(0.5, causal=True),
    "tanh_l1_shift": lambda: TanhL1(0.3, "shift", 1e-3),
    "tanh_l1_shift causal": lambda: TanhL1(0.3, "shift", causal=True),
}


def tokens(count=48, seed=1):
    return torch.randn(count, WIDTH, 8, generator=torch.Generator().manual_seed(seed)) * 2


def network(key):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(8, WIDTH), LAYERS[key](), nn.Linear(WIDTH, 4))


@pytest.fixture(scope="module", params=sorted(LAYERS))
def made(request):
    """Return (key, quantized network)."""
    return request.param, quantize(network(request.param), Recipe(), tokens())


def test_torch_files_and_program_give_the_same_codes(made):
    key, quantized = made
    x = torch.cat([tokens(60, 2), torch.zeros(1, WIDTH, 8), tokens(8, 3) * 100])
    model = quantized_model(quantized, x[:2])
    program = assert_like_runtime(model, x.numpy())
    assert key.split()[0] in [node.op for node in program.nodes]
    with torch.no_grad():
        y = quantized(x).numpy()
    (expected,) = runtime(model, {model.graph.input[0].name: x.numpy()}, [model.graph.output[0].name]).values()
    assert np.array_equal(y, expected)
    codes = quantize_input(program, {program.inputs[0]: x.numpy()})
    simulated = simulate(program, codes, threads=1).outputs
    opened = run_session(session(integer_model(program), True), codes)
    for name in program.outputs:
        assert np.array_equal(opened[name], simulated[name])


def test_weights_are_near_the_float_function(made):
    key, quantized = made
    layer = quantized.model[1]
    with torch.no_grad():
        x = layer.input_quant(quantized.model[0](tokens(40, 4)))
        error = (layer.integers(x) - layer.function(x)).abs() / layer.y_scale
    if "shift" in key:  # a sum near 2^(k + 1/2) may be rounded to the other power of two
        assert (error > 1).float().mean() < 0.02
    else:
        assert error.max() <= 1.1


def test_a_causal_row_sees_nothing_behind_itself(made):
    key, quantized = made
    if "causal" in key:
        y = quantized.model[1](quantized.model[0](tokens(9, 5)))
        assert not y.triu(1).any()
        assert (y.diagonal(dim1=-2, dim2=-1) != 0).any()


def test_gradients_are_those_of_the_float_function(made):
    _, quantized = made
    trained = copy.deepcopy(quantized).train()
    trained(tokens(8)).square().mean().backward()
    gradient = trained.model[0].weight.grad
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() > 0


def test_only_the_forms_that_say_so_multiply_or_divide(made):
    key, quantized = made
    report = count(compile_model(quantized_model(quantized, tokens(2))))
    own = {row.primitive for row in report.multiplications() if row.op == key.split()[0]}
    assert own == {"softmax": {"div"}, "softmax_recip": {"div", "mul"}, "tanh_l1": {"div"}}.get(key.split()[0], set())


def test_a_stored_network_comes_back(made, tmp_path):
    key, quantized = made
    again = load(save(quantized, tmp_path / "network.safetensors"), network(key))
    with torch.no_grad():
        assert torch.equal(again(tokens(9, 5)), quantized(tokens(9, 5)))
