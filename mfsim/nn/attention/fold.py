"""`fold_attention`: matrices of an attention unit multiplied into each other, before quantization.

    W_R            into W_Q:  q = R (W_Q x + b_Q); up to a ReLU
    DCT, WHT of V  into W_O:  A (V T^T) W_O^T = (A V) (W_O T)^T, a block of W_O for each head
    Cholesky       the triangular matrix into a dense layer with zeros
    W_Q W_K^T      into one W_QK, keys become x itself        only with `collapse`, of one head
    W_V W_O        into one W_VO, nothing behind the weights  only with `collapse`, of one head

The first two hold for any scores and weights, as they only use that the aggregation is linear in V. The
last two use that a row of softmax weights sums to 1 and does not change with what a whole row of scores
has in common. What is not linear (MF products, magnitudes of a Fourier transform) or mixes tokens (the
filterbank) stays. A folded network is another network once quantized, with an accuracy of its own.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import nn

from mfsim.nn.attention.unit import Attention
from mfsim.nn.matrices import TriangularLinear
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d

_ROWS_SUM_TO_ONE = ("division", "reciprocal", "log")
"""Forms of softmax whose float function is the softmax."""


@torch.no_grad()
def fold_attention(module: nn.Module, *, collapse: bool = False) -> nn.Module:
    """Return a copy of `module` with every attention unit in it folded; it computes the same.

    Parameters
    ----------
    module : module
        An `Attention`, or a network with any number of them; left as it is.
    collapse : bool
        Whether W_Q W_K^T and W_V W_O of dense softmax units with one head become one matrix each.
    """
    module = copy.deepcopy(module)
    for unit in module.modules():
        if isinstance(unit, Attention):
            _fold_triangular(unit)
            _fold_chain(unit)
            _fold_value_transform(unit)
            if collapse:
                _collapse_scores(unit)
                _collapse_values(unit)
    return module


def _fold_triangular(unit: Attention) -> None:
    if not isinstance(unit.query, TriangularLinear):
        return
    unit.query = _linear(unit.query.matrix().t(), None)
    unit.config = replace(unit.config, query="projection")


def _fold_chain(unit: Attention) -> None:
    query = unit.query
    if not isinstance(query, nn.Linear):
        return
    heads, n = unit.config.heads, unit.n
    weight = query.weight.double().reshape(heads, n, -1)
    bias = None if query.bias is None else query.bias.double().reshape(heads, n, 1)
    fused = len(unit.chain) - (1 if unit.relu is not None else 0)
    for layer in unit.chain[:fused]:
        matrices = layer.get_parameter("weight").double().reshape(heads, n, n)
        weight = matrices @ weight
        bias = None if bias is None else matrices @ bias
    if fused:
        unit.query = _linear(weight.flatten(0, 1), None if bias is None else bias.flatten(), like=query)
        unit.chain = unit.chain[fused:]
        unit.config = replace(unit.config, chain=len(unit.chain))
    if fused and not len(unit.chain) and unit.query_norm is not None:
        norm = ShiftBatchNorm1d(unit.width).to(weight.dtype)  # the features are the last axis again
        norm.load_state_dict(unit.query_norm.state_dict())
        unit.query_norm = norm.to(query.weight.dtype).train(unit.training)


def _fold_value_transform(unit: Attention) -> None:
    config, output = unit.config, unit.output
    if config.value_transform not in ("dct", "wht") or config.aggregation != "dot" or not isinstance(output, nn.Linear):
        return
    transform = unit.key_transform if unit.value_transform is None else unit.value_transform
    assert transform is not None
    transposed = transform(torch.eye(unit.n, dtype=torch.float64, device=output.weight.device))
    weight = output.weight.double().reshape(-1, config.heads, unit.n) @ transposed.t()
    unit.output = _linear(weight.flatten(1), output.bias, like=output)
    unit.value_transform = None
    unit.config = replace(config, value_transform="none")


def _collapsible(unit: Attention) -> bool:
    config = unit.config
    return config.heads == 1 and config.normaliser == "softmax" and config.projection_norm == "none"


def _collapse_scores(unit: Attention) -> None:
    config, query, key = unit.config, unit.query, unit.key
    plain = not config.rope and "none" == config.query_transform == config.key_transform
    if not (_collapsible(unit) and plain and config.similarity == "dot" and config.value not in ("key", "mf")):
        return
    if not isinstance(query, nn.Linear) or not isinstance(key, nn.Linear) or len(unit.chain):
        return
    matrix = key.weight.double().t()
    bias = None if query.bias is None else matrix @ query.bias.double()
    unit.query, unit.key = _linear(matrix @ query.weight.double(), bias, like=query), None
    unit.config = replace(config, key="input")


def _collapse_values(unit: Attention) -> None:
    config, value, output = unit.config, unit.value, unit.output
    plain = config.value_transform == "none" and config.aggregation == "dot" and config.key != "value"
    if not (_collapsible(unit) and plain and config.normaliser_form in _ROWS_SUM_TO_ONE):
        return
    if not isinstance(value, nn.Linear) or not isinstance(output, nn.Linear):
        return
    matrix = output.weight.double()
    bias = None if output.bias is None else output.bias.double()
    if value.bias is not None:
        bias = matrix @ value.bias.double() + (0 if bias is None else bias)
    unit.value = _linear(matrix @ value.weight.double(), bias, like=value)
    unit.output = None
    unit.config = replace(config, output="none")


def _linear(weight: torch.Tensor, bias: torch.Tensor | None, like: nn.Linear | None = None) -> nn.Linear:
    """Return a dense layer with these tensors, in the number format of `like`."""
    kind = weight.dtype if like is None else like.weight.dtype
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    layer.weight = nn.Parameter(weight.to(kind).contiguous())
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach().to(kind))
    return layer
