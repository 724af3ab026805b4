"""Leaf modules of an attention unit, made from its configuration; None where a unit has no such part."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.nn.attention.config import AttentionConfig
from mfsim.nn.filterbank import Filterbank
from mfsim.nn.fourier import DCT, DFTMagnitude
from mfsim.nn.gains import Affine
from mfsim.nn.matrices import Gram, MatMul, MFMatMul
from mfsim.nn.projections import make_conv2d, make_linear
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.softmax import Softmax, TanhL1
from mfsim.nn.wht import WHT, next_power_of_two

REMAP_NOISE = 0.02
"""Standard deviation of what fresh matrices W_R have besides the identity."""


def linear(config: AttentionConfig, kind: str, inputs: int, outputs: int, bias: bool) -> nn.Module:
    """Return a projection of `kind`; in front of a norm it needs no bias.

    Parameters
    ----------
    config : AttentionConfig
        Says the options of MF products, and whether a norm follows.
    kind : {"dense", "mf", "power-of-two"}
    inputs, outputs : int, at least 1
        Features.
    bias : bool
        Whether there is a bias where no norm follows.

    Returns
    -------
    torch.nn.Module
        From [..., inputs] to [..., outputs].
    """
    return make_linear(kind, inputs, outputs, bias and config.projection_norm == "none", **config.mf_options)


def norm(config: AttentionConfig, width: int, axis: int = -1) -> nn.Module | None:
    """Return the norm behind a projection whose features lie along `axis`, -1 or -3.

    Parameters
    ----------
    config : AttentionConfig
    width : int, at least 1
        Features.
    axis : {-1, -3}
        Where the features lie.

    Returns
    -------
    ShiftBatchNorm1d, ShiftBatchNorm2d or None
        None where `projection_norm` is none.
    """
    if config.projection_norm == "none":
        return None
    return ShiftBatchNorm1d(width) if axis == -1 else ShiftBatchNorm2d(width)


@torch.no_grad()
def remap(config: AttentionConfig, width: int) -> nn.Module:
    """Return one W_R: a matrix n x n for each head, as a convolution of one position with a group for each head.

    Its weight [width, n, 1, 1] holds head h's matrix [out, in] in rows h n .. (h + 1) n - 1. Without bias.
    A dense one starts near the identity.

    Parameters
    ----------
    config : AttentionConfig
    width : int
        Features of all heads, a multiple of them.

    Returns
    -------
    torch.nn.Module
        From [N, width, T, 1] to the same shape.
    """
    n = width // config.heads
    layer = make_conv2d(
        config.projection, width, width, 1, groups=config.heads, bias=False, mf_options=config.mf_options
    )
    if not isinstance(layer, nn.Conv2d):
        return layer
    layer.weight.normal_(std=REMAP_NOISE)
    layer.weight += torch.eye(n).repeat(config.heads, 1)[:, :, None, None]
    return layer


def transform(config: AttentionConfig, kind: str, heads: int, n: int, grid: tuple[int, int]) -> nn.Module | None:
    """Return a transform of heads [N, heads, tokens, n]; that of Walsh-Hadamard is scaled by a power of two.

    For odd log2 n it is sqrt(2) times the orthonormal one, which the projection behind it learns.

    Parameters
    ----------
    config : AttentionConfig
        Says the forms of the transforms.
    kind : {"none", "dct", "wht", "dft", "filterbank"}
    heads : int, at least 1
        Heads of the rows, for a filterbank.
    n : int
        Head width in features.
    grid : tuple of (int, int)
        Side of the grid and tokens in front, as `check_grid` returns them; for a filterbank.

    Returns
    -------
    torch.nn.Module or None
        None for "none".
    """
    if kind == "dct":
        return DCT(n, config.dct_form)
    if kind == "wht":
        return WHT(norm="shift")
    if kind == "dft":
        return DFTMagnitude(n, config.dft_form)
    if kind == "filterbank":
        return Filterbank(heads, *grid, normalise=config.normalise_filters, form=config.filterbank_form)
    return None


def _symmetric(config: AttentionConfig) -> bool:
    """Whether queries and keys of one sequence are one tensor."""
    transformed = config.query_transform != "none" or config.key_transform != "none"
    return config.key == "query" and not transformed and not config.rope


def product(config: AttentionConfig, kind: str, transpose_b: bool) -> nn.Module:
    """Return the product of two activations; of scores whose queries are the keys too, one that computes half.

    Parameters
    ----------
    config : AttentionConfig
    kind : {"dot", "mf"}
        Of multiplication.
    transpose_b : bool
        Whether the second operand is [..., O, K], as for scores.

    Returns
    -------
    Gram, MatMul or MFMatMul
    """
    if kind == "dot" and transpose_b and _symmetric(config):
        return Gram()
    if kind == "dot":
        return MatMul(transpose_b=transpose_b)
    return MFMatMul(**config.mf_options, transpose_b=transpose_b)


def normaliser(config: AttentionConfig, n: int, causal: bool) -> nn.Module:
    """Return what makes weights of scores, the factor 1 / sqrt(n) included.

    Parameters
    ----------
    config : AttentionConfig
    n : int, at least 1
        Head width in features.
    causal : bool
        Whether row i sees the columns 0..i only.

    Returns
    -------
    Softmax or TanhL1
    """
    if config.normaliser == "softmax":
        return Softmax(n**-0.5, config.normaliser_form, causal)
    return TanhL1(n**-0.5, config.normaliser_form, causal=causal)


def hadamard(config: AttentionConfig, width: int) -> tuple[WHT, Affine]:
    """Return the transform across all heads and its gains, together orthonormal before training.

    The transform is scaled by a power of two; for odd log2 of its length, free gains start at
    sqrt(1/2), and powers of two at 1.

    Parameters
    ----------
    config : AttentionConfig
    width : int, at least 1
        Features of all heads.

    Returns
    -------
    tuple of (WHT, Affine)
        The transform may be longer than `width`; the gains take its first `width` values.
    """
    transformed = WHT(norm="shift", size=config.hadamard_size)
    length = next_power_of_two(width) if config.hadamard_size == "pad" else width & -width
    odd = (length.bit_length() - 1) % 2
    return transformed, Affine(width, config.alpha, 0.5**0.5 if odd and config.alpha == "free" else 1.0)
