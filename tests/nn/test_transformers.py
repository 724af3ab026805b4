"""Transformers and the Hadamard ResNet: options, structure, decoding, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from mfsim import data
from mfsim.errors import FormatError, ModelError, ShapeError
from mfsim.nn import Add, MatMul, ShiftBatchNorm1d, WHTLayer, models
from mfsim.nn.attention import PRESETS, Attention
from mfsim.nn.models.layers import MLPS, NORMS
from mfsim.nn.models.vit import TokenMean, default_patch
from mfsim.quant import fold
from mfsim.train import fit

SMALL = {"width": 16, "depth": 1, "hidden": 32}
MOVING = {
    "_unsafe_view", "alias", "cat", "clone", "constant_pad_nd", "copy_", "detach", "empty_like", "expand", "permute", "select", "slice", "squeeze",
    "t", "transpose", "unsqueeze", "view",
}  # fmt: skip
"""What may happen outside of leaf modules."""


def kinds(model):
    return {type(module) for module in model.modules()}


@pytest.mark.parametrize("attention", PRESETS)
def test_every_preset_in_the_reduced_vit(attention):
    parts = {"norm": "none", "mlp": "none", "residual": False} if attention == "chained-vo" else {}
    name = "min-transformer" if parts else "mini-vit"
    model = models.create(name, attention=attention, width=64, depth=2, heads=4, seed=0, **parts)
    y = model(torch.rand(3, 1, 8, 8))
    assert y.shape == (3, 10)
    assert torch.isfinite(y).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("mlp", MLPS)
def test_every_norm_with_every_mlp(norm, mlp):
    model = models.create("mini-vit", norm=norm, mlp=mlp, seed=0, **SMALL)
    model(torch.rand(4, 1, 8, 8)).square().sum().backward()
    idle = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert not idle
    (block,) = model.blocks
    assert (block.norm2 is None) == (mlp == "none" or norm in ("none", "shift-batch"))
    # Batch norm stands behind every product instead, where it can be folded.
    assert (block.attention.query_norm is not None) == (norm == "shift-batch")


@pytest.mark.parametrize("attention", ["qkv", "qvv3", "mf-attention"])
@pytest.mark.parametrize("mlp", ["mf", "relu", "wht"])
def test_batch_norms_of_a_transformer_fold(attention, mlp):
    torch.manual_seed(0)
    model = models.create("mini-vit", norm="shift-batch", mlp=mlp, projection="mf", attention=attention, **SMALL)
    for _ in range(3):
        model(torch.rand(8, 1, 8, 8))
    folded = fold(model, torch.rand(2, 1, 8, 8))  # compares both in float64
    assert not any(isinstance(module, ShiftBatchNorm1d) for module in folded.modules())


def test_a_vit_of_power_of_two_weights():
    kind = "power-of-two"
    parts = {"projection": kind, "mlp": kind, "attention": replace(PRESETS["qvv3"], projection=kind, output=kind)}
    model = models.create("mini-vit", **parts, **SMALL)
    assert not kinds(model) & {nn.Linear, nn.Conv2d}
    assert model(torch.rand(2, 1, 8, 8)).shape == (2, 10)


def test_mf_vit_has_no_product_of_two_numbers():
    model = models.create("mf-vit", seed=0)
    assert not kinds(model) & {nn.Linear, nn.Conv2d, nn.LayerNorm, MatMul, nn.Softmax, nn.GELU}
    normalisers = [block.attention.normalise for block in model.blocks]
    assert [(type(n).__name__, n.form) for n in normalisers] == [("TanhL1", "shift")] * 2


class Outside(TorchDispatchMode):
    """Collects the operations that run while no leaf module does."""

    def __init__(self, model):
        super().__init__()
        self.inside, self.found = 0, set()
        for module in model.modules():
            if not any(True for _ in module.children()):
                module.register_forward_pre_hook(lambda *arguments: self._count(1))
                module.register_forward_hook(lambda *arguments: self._count(-1))

    def _count(self, step):
        self.inside += step

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if not self.inside:
            self.found.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("attention", [name for name in PRESETS if name != "chained-vo"])
def test_arithmetic_happens_in_leaf_modules_only(attention):
    """So quantization, which replaces leaf modules, leaves nothing out."""
    model = models.create("mini-vit", attention=attention, width=64, depth=1, heads=4).eval()
    x = torch.rand(2, 1, 8, 8)
    with Outside(model) as outside, torch.no_grad():
        model(x)
    assert outside.found <= MOVING, outside.found - MOVING


@pytest.mark.parametrize("name", ["mf-vit", "min-transformer", "nano-gpt", "htma-resnet20"])
def test_arithmetic_of_other_networks_happens_in_leaf_modules_only(name):
    model = models.create(name, **({} if name == "htma-resnet20" else SMALL)).eval()
    x = torch.randint(0, 256, (2, 9)) if name == "nano-gpt" else torch.rand(2, 1, 8, 8)
    with Outside(model) as outside, torch.no_grad():
        model(x)
    assert outside.found <= MOVING, outside.found - MOVING


@pytest.mark.parametrize(
    ("name", "options", "learning_rate"),
    [
        ("mini-vit", {"attention": "qkk", "width": 32, "depth": 1, "hidden": 64}, 0.01),
        ("min-transformer", {"attention": "qkv", "width": 32, "depth": 1, "hidden": 64, "mlp": "gelu"}, 0.01),
        ("mf-vit", {"width": 32, "depth": 1, "hidden": 64}, 0.03),
    ],
)
def test_transformers_learn(name, options, learning_rate):
    digits = data.load("digits")
    model = models.create(name, seed=0, **options)
    history = fit(model, digits.train, digits.validation, epochs=6, learning_rate=learning_rate)
    assert history.epochs[-1].loss < 0.75 * history.epochs[0].loss
    assert history.best.validation_accuracy > 0.5  # a tenth is guessing; whole training reaches far more


def test_heads_come_from_the_option_then_the_unit_then_the_model():
    def heads(name, **options):
        return models.create(name, **SMALL, **options).blocks[0].attention.config.heads

    assert heads("mini-vit") == 4
    assert heads("min-transformer", attention="qkv") == 1
    assert heads("mini-vit", attention="wqk") == 1
    assert heads("mini-vit", attention="wqk", heads=2) == 2
    assert heads("mini-vit", attention=replace(PRESETS["qkv"], heads=8)) == 8
    assert heads("mini-vit", attention=replace(PRESETS["qkv"], heads=8), heads=2) == 2
    assert models.create("compact-vit", width=24, depth=1).blocks[0].attention.config.heads == 3
    assert models.create("mini-vit", attention="qkv", kv_heads=2, **SMALL).blocks[0].attention.config.groups == 2


@pytest.mark.parametrize(
    ("rows", "columns", "side", "patch"),
    [(32, 32, 7, 4), (64, 64, 7, 8), (28, 28, 7, 4), (8, 8, 7, 2), (28, 28, 4, 7), (32, 32, 4, 8), (8, 8, 4, 2), (4, 6, 7, 2), (7, 5, 7, 1)],
)  # fmt: skip
def test_patches(rows, columns, side, patch):
    assert default_patch(rows, columns, side) == patch


def test_the_mean_of_tokens_divides_by_a_power_of_two():
    x = torch.arange(12.0).reshape(1, 6, 2)
    assert TokenMean()(x).tolist() == [[30 / 8, 36 / 8]]
    assert TokenMean()(x[:, :4]).tolist() == [[3, 4]]


def test_swiglu():
    layer = models.layers.SwiGLU(3, 5, bias=True)
    x = torch.randn(2, 3)
    gate, up = layer.gate(x), layer.up(x)
    assert torch.equal(layer(x), layer.down(gate * torch.sigmoid(gate) * up)) or torch.allclose(
        layer(x), layer.down(gate * torch.sigmoid(gate) * up), rtol=0, atol=1e-6
    )  # float32 of values near 1


@pytest.mark.parametrize("attention", ["qkv", "qkk", "qvv3", "gqa", "wqk-novo", "hadamard-o", "mf-scores", "qk-dftk"])
@pytest.mark.parametrize("positions", ["rope", "learned", "none"])
def test_a_decoder_decodes_what_it_computes_at_once(attention, positions):
    torch.manual_seed(0)
    model = models.create("nano-gpt", attention=attention, positions=positions, context=9, **SMALL).double()
    ids = torch.randint(0, 256, (2, 9))
    whole = model(ids)
    y, caches = model.prefill(ids[:, :4])
    outputs = [y]
    for t in range(4, 9):
        y, caches = model.decode(ids[:, t : t + 1], caches)
        outputs.append(y)
    # Sums of at most 43 terms of size 1 in float64, in another order.
    assert torch.allclose(torch.cat(outputs, 1), whole, rtol=0, atol=1e-12)
    changed = ids.clone()
    changed[:, 5:] = 255 - changed[:, 5:]
    assert torch.equal(model(changed)[:, :5], whole[:, :5])


def test_decoders_have_the_parts_of_their_kind():
    nano = models.create("nano-gpt", **SMALL)
    assert nano.head.weight is nano.embed.weight
    assert 0.24 < float(nano.embed.weight.detach().std()) < 0.26  # 16**-0.5: numbers of words start near 1
    assert not [name for name, _ in nano.named_parameters() if name.endswith("bias")]
    with torch.device("meta"):
        gpt2, qwen2 = models.create("gpt2-12", depth=1), models.create("qwen2-1.5b", depth=1)
    assert gpt2.head.weight is not gpt2.embed.weight
    biases = {name for name, _ in qwen2.named_parameters() if name.endswith("bias")}
    assert biases == {"blocks.0.attention.query.bias", "blocks.0.attention.value.bias"}
    unit = qwen2.blocks[0].attention
    assert (unit.n, unit.config.groups, unit.query_rope.base, qwen2.norm.eps) == (128, 2, 1e6, 1e-6)


def test_the_hadamard_resnet_has_twenty_layers():
    model = models.create("htma-resnet20", (3, 32, 32))
    transforms = [module for module in model.modules() if isinstance(module, WHTLayer)]
    assert [layer.lengths for layer in transforms] == [(32, 32)] * 3 + [(16, 16)] * 3 + [(8, 8)] * 3
    convolutions = [module for module in model.modules() if type(module).__name__ == "MFConv2d"]
    assert len(transforms) + len(convolutions) + 1 == 20
    assert not kinds(model) & {nn.Linear, nn.Conv2d, nn.BatchNorm2d}
    assert sum(isinstance(module, Add) for module in model.modules()) == 9


@pytest.mark.parametrize(
    ("name", "options", "kind", "sentence"),
    [
        (
            "mini-vit",
            {"norm": "layr"},
            FormatError,
            f"`norm` must be one of {', '.join(NORMS)}, not 'layr'; did you mean `layer`?",
        ),
        (
            "mini-vit",
            {"mlp": "glu"},
            FormatError,
            f"`mlp` must be one of {', '.join(MLPS)}, not 'glu'; did you mean `gelu`?",
        ),
        (
            "mini-vit",
            {"projection": "mff"},
            FormatError,
            "`projection` must be one of dense, mf, power-of-two, not 'mff'; did you mean `mf`?",
        ),
        ("mini-vit", {"head": "sum"}, FormatError, "`head` must be one of class-token, mean, not 'sum'"),
        (
            "nano-gpt",
            {"positions": "rop"},
            FormatError,
            "`positions` must be one of rope, learned, none, not 'rop'; did you mean `rope`?",
        ),
        (
            "mini-vit",
            {"patch": 3},
            ShapeError,
            "`patch` must divide both sides of the image, 8 x 8, which 3 does not",
        ),
        (
            "mini-vit",
            {"attention": "chained-vo"},
            ModelError,
            "an attention unit with `output` chained needs a model without residuals, norms and MLPs "
            "(`residual` False, `norm` none, `mlp` none), not True, layer and gelu",
        ),
        (
            "nano-gpt",
            {"attention": "chained-vo"},
            ModelError,
            "a decoder's blocks have residuals, so its units cannot have the `output` chained; use one of dense, mf, "
            "power-of-two, hadamard, none, or the model min-transformer without residuals",
        ),
        ("htma-resnet20", {"blocks": 0}, ShapeError, "`blocks` must be at least 1, not 0"),
    ],
)
def test_refused(name, options, kind, sentence):
    with pytest.raises(kind) as error:
        models.create(name, **options)
    assert str(error.value) == sentence


def test_a_filterbank_in_an_image_of_another_shape():
    with pytest.raises(ShapeError) as error:
        models.create("mini-vit", (1, 8, 12), attention="qk-sk")
    assert str(error.value) == "a filterbank needs a square grid of patches, not 4 x 6; 4 x 4 or 6 x 6 would do"


def test_ids_that_a_decoder_cannot_take():
    model = models.create("nano-gpt", context=4, **SMALL)
    with pytest.raises(ShapeError) as error:
        model(torch.rand(1, 4))
    assert str(error.value) == "a decoder takes token ids [N, T] of whole numbers, not [1, 4] of torch.float32"
    with pytest.raises(ShapeError) as error:
        model(torch.zeros(1, 5, dtype=torch.long))
    assert str(error.value) == "a decoder of 4 tokens cannot take 5"


def test_attention_modules_print_their_sizes():
    assert repr(Attention(PRESETS["gqa"], 8, 5)).startswith("Attention(\n  8, tokens=5, heads=4, kv_heads=2\n")
