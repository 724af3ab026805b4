"""Parameters of whole networks: the numbers of the papers, and those derived from their sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mfsim.nn import models
from mfsim.nn.attention import PRESETS, Attention, fold_attention


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


CIFAR, TINY, MNIST = ((3, 32, 32), 10), ((3, 64, 64), 200), ((1, 28, 28), 10)


@pytest.mark.parametrize(
    ("attention", "count"),
    [
        # arXiv 2609.36698, section 2.5 and table 2
        ("qkv", 546186),
        ("qkk", 480138),
        ("qk-dctk", 480138),
        ("qk-whtk", 480138),
        ("qk-sk", 480634),
        ("q-sk-sk", 480634),
        ("sq-sk-k", 480634),
        ("sq-sk-sk", 480634),
        # Not printed; by the same rules
        ("qk-dftk", 480138),
        ("qk-mfqk", 480138),
        ("symmetric", 480138),
        ("qvv2", 480138),
        ("qvv3", 496522),
        ("hadamard-o", 481162),
        ("hadamard-o-pow2", 481162),
        ("wqk-novo", 348042),
        ("mf-scores", 546186),
        ("mf-aggregate", 546186),
    ],
)
def test_mini_vit(attention, count):
    assert parameters(models.create("mini-vit", *CIFAR, attention=attention)) == count


def test_mini_vit_combinations():
    both = replace(PRESETS["hadamard-o"], value="key")
    assert parameters(models.create("mini-vit", *CIFAR, attention=both)) == 415114
    assert parameters(models.create("mini-vit", *CIFAR, mlp="none")) == 281482
    folded = fold_attention(models.create("mini-vit", *CIFAR, attention="qvv3"))
    assert parameters(folded) == 480138


@pytest.mark.parametrize(
    ("data", "attention", "count"),
    [
        # arXiv 2609.36698, table 3, printed as 2.694, 2.471, 2.758, 2.536 M
        (CIFAR, "qkv", 2693578),
        (CIFAR, "qk-mfqk", 2471242),
        (TINY, "qkv", 2757896),
        (TINY, "qk-mfqk", 2535560),
        # By the same rules
        (CIFAR, "qk-sk", 2471800),
        (CIFAR, "qvv3", 2544970),
        (CIFAR, "hadamard-o-pad", 2473546),
        (CIFAR, "hadamard-o-block", 2473546),
        (TINY, "wqk-novo", 2090888),
    ],
)
def test_compact_vit(data, attention, count):
    assert parameters(models.create("compact-vit", *data, attention=attention)) == count


@pytest.mark.parametrize(
    ("depth", "mlp", "count"), [(6, "gelu", 304906), (6, "none", 105610), (12, "gelu", 604810), (12, "none", 206218)]
)
def test_min_transformer(depth, mlp, count):
    """Our defaults for arXiv 2410.13732, whose own widths are in no public copy."""
    for heads in (1, 4):
        model = models.create("min-transformer", *MNIST, attention="qkv", depth=depth, mlp=mlp, heads=heads)
        assert parameters(model) == count


@pytest.mark.parametrize(
    ("attention", "count"),
    [
        # Matrices of section 3.1: 4 d^2, 3 d^2, d^2, 3 d^2, d(d+1)/2 + 2 d^2, 2 d^2
        ("qkv", 4 * 64 * 64),
        ("wqk", 3 * 64 * 64),
        ("wqk-novo", 64 * 64),
        ("symmetric", 3 * 64 * 64),
        ("cholesky", 64 * 65 // 2 + 2 * 64 * 64),
        ("collapsed-vo", 2 * 64 * 64),
        ("chained-vo", 64 * 64),
        # arXiv 2606.21848: 3 d^2 + (m - 2) d n and 4 d^2 + d n
        ("qvv2", 3 * 64 * 64),
        ("qvv3", 3 * 64 * 64 + 64 * 16),
        ("qvv4", 3 * 64 * 64 + 2 * 64 * 16),
        ("qvv4relu", 3 * 64 * 64 + 2 * 64 * 16),
        ("qkv3", 4 * 64 * 64 + 64 * 16),
        # arXiv 2603.08343: 2 d in place of d^2
        ("hadamard-o", 3 * 64 * 64 + 2 * 64),
        ("gqa", 3 * 64 * 64),
    ],
)
def test_matrices_of_one_unit(attention, count):
    assert parameters(Attention(replace(PRESETS[attention], bias=False), 64, 17)) == count


def test_chained_values_have_one_matrix_for_the_whole_stack():
    model = models.create("min-transformer", *MNIST, attention="chained-vo", norm="none", residual=False)
    unit = 64 * 64 + 64
    assert parameters(model) == 105610 - 6 * (4 * unit + 2 * 64) - 2 * 64 + 6 * unit + unit


def test_qwen2_without_memory():
    """Golden: the public 1,543,714,304; Keyless in training, and with W_R in W_Q."""
    with torch.device("meta"):
        assert parameters(models.create("qwen2-1.5b", attention="qkv")) == 1543714304
        keyless = models.create("qwen2-1.5b")
        assert parameters(keyless) == 1538202112
        assert parameters(fold_attention(keyless)) == 1532697088
    assert {parameter.device.type for parameter in keyless.parameters()} == {"meta"}


def test_gpt2_shapes_without_memory():
    """12 L d^2 with biases and norms, two tables of 50257 words; arXiv 2606.21848 says 557 million for 36 layers."""
    with torch.device("meta"):
        for name, layers in (("gpt2-12", 12), ("gpt2-36", 36)):
            base = layers * (12 * 1024**2 + 13 * 1024) + 2 * 50257 * 1024 + 1024 * 1024 + 2 * 1024
            assert parameters(models.create(name, attention="qkv")) == base
            keyless = layers * (1024 * 1024 + 1024 - 16 * 64 * 64)
            assert parameters(models.create(name)) == base - keyless
        assert parameters(models.create("gpt2-36", attention="qkv")) == 557441024


@pytest.mark.parametrize(("width", "depth"), [(256, 4), (384, 8), (1536, 12)])
def test_nano_gpt_share_of_the_output_projection(width, depth):
    """Share d L / (12 L d + V) of tied embeddings, but for norms: arXiv 2603.08343 with 8/3 of the width."""
    options = {"vocabulary": 50304, "context": 1024, "width": width, "depth": depth}
    with torch.device("meta"):
        dense, less = (
            parameters(models.create("nano-gpt", attention=name, **options)) for name in ("qkv", "hadamard-o-block")
        )
    assert dense == 50304 * width + depth * (4 * width**2 + 3 * width * (8 * width // 3) + 2 * width) + width
    assert dense - less == depth * (width**2 - 2 * width)
