"""Small networks over tokens, and what compares all their realisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from mfsim.compiler import compile_model
from mfsim.export.exporter import quantized_model
from mfsim.export.runtime import run, session
from mfsim.nn import Add, LayerNorm, MatMul, MFMatMul, MFMul, Mul, Softmax, TanhL1, TokenEmbedding, models
from mfsim.nn.attention import Attention, AttentionConfig
from mfsim.parity.compare import codes_of
from mfsim.parity.reference import run_reference
from mfsim.quant import Recipe, fold, quantize
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input, simulate
from tests.bits import assert_bit_equal


def images(count: int = 48, seed: int = 1) -> torch.Tensor:
    """Return float32 images [count, 1, 8, 8] in 0..1."""
    return torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(seed))


class Tokens(nn.Module):
    """One block over 16 patches and a class token: attention of two heads, a gate, an MLP, residuals."""

    def __init__(self, *, mf: bool = False, act: type[nn.Module] = nn.GELU, causal: bool = False) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, 12, 2, stride=2)
        self.embed = TokenEmbedding(16, 12)
        self.norm = LayerNorm(12)
        self.project = nn.Linear(12, 36)
        self.scores = MFMatMul(transpose_b=True) if mf else MatMul(transpose_b=True)
        self.weights = TanhL1(6**-0.5) if mf else Softmax(6**-0.5, causal=causal)
        self.mix = MFMatMul() if mf else MatMul()
        self.gate = MFMul() if mf else Mul()
        self.add1 = Add()
        self.up, self.act, self.down = nn.Linear(12, 20), act(), nn.Linear(20, 12)
        self.add2 = Add()
        self.head, self.last = nn.Linear(12, 5), -1 if causal else 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        x = self.embed(self.patch(x).flatten(2).transpose(1, 2))
        rows = self.project(self.norm(x)).chunk(3, -1)
        q, k, v = (part.reshape(x.shape[0], -1, 2, 6).transpose(1, 2) for part in rows)
        y = self.mix(self.weights(self.scores(q, k)), v).transpose(1, 2).reshape(x.shape[0], -1, 12)
        x = self.add1(x, self.gate(y, x))
        x = self.add2(x, self.down(self.act(self.up(x))))
        return self.head(x[:, self.last])


def small_vit(name: str = "mini-vit", units: Sequence[AttentionConfig] = (), **options) -> nn.Module:
    """Return a vision transformer of one block for digits, its batch norms used to `images`.

    With `units` it has a block for each of these attention units, on 16 patches and a class token.
    """
    sizes = {"width": 16, "depth": len(units) or 1, "hidden": 16, "heads": 2} | options
    model = models.create(name, (1, 8, 8), 10, seed=0, **sizes)
    torch.manual_seed(0)
    for block, unit in zip(model.blocks, units, strict=False):
        block.attention = Attention(unit, sizes["width"], 17, grid=(4, 4))
    model.train()
    with torch.no_grad():
        for seed in range(3):
            model(images(32, seed))
    return model.eval()


def quantized(model: nn.Module, recipe: dict | None = None, count: int = 48):
    """Return `model` folded and quantized on `images`."""
    torch.manual_seed(0)
    return quantize(fold(model.eval(), images(2)), Recipe.from_dict(recipe or {}), images(count))


@torch.no_grad()
def assert_one_network(network, x: torch.Tensor, references: int = 1) -> object:
    """Fail unless torch, model.onnx, simulator, integer.onnx and the ops' definitions give one set of codes.

    Returns the program. `references` samples are computed from the definitions.
    """
    model = quantized_model(network, x[:2])
    program = compile_model(model)
    (name,) = program.outputs
    codes = codes_of(program, {name: network(x).numpy()})[name]
    assert len(np.unique(codes)) > 8, "the network gives next to one code"
    for optimise in (True, False):
        found = codes_of(program, run(session(model, optimise), x.numpy()))[name]
        assert_bit_equal(found, codes)
    inputs = quantize_input(program, {program.inputs[0]: x.numpy()})
    assert_bit_equal(simulate(program, inputs, threads=1).outputs[name].astype(np.int64), codes)
    few = {key: values[:references] for key, values in inputs.items()}
    if references:
        assert_bit_equal(run_reference(program, few)[name].astype(np.int64), codes[:references])
    integers = integer_model(program)
    assert read_integer(integers).digest() == program.digest()
    for optimise in (True, False):
        opened = session(integers, optimise)
        kind = np.int64 if "int64" in opened.get_inputs()[0].type else np.int32
        fed = {value.name: inputs[value.name].astype(kind) for value in opened.get_inputs()}
        assert_bit_equal(run(opened, fed)[name].astype(np.int64), codes)
    return program
