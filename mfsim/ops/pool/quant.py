"""Mean pools of sums: a quantizer in front where a window takes in many values.

A pool is exact on codes, but each doubling of its window adds a bit, and what a product with weights gives is no code:
22-bit sums over a plane of 8 x 8 take 28 bits, of which float32 holds 25. So a pool of more than `MANY`
values gets a quantizer, unless its input has the codes of one already. Whether it has is seen in a run.
Windows of up to `MANY` values add 4 bits at most, and the quantizer of the next layer follows them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mfsim.nn import AvgPool2d, GlobalAvgPool2d
from mfsim.quant.input_quantizer import KEEPING
from mfsim.quant.quantizers import ActivationQuant

MANY = 16
"""Values of a window up to which sums are pooled as they are."""

SELECTING = KEEPING | {"cat", "constant_pad_nd", "max_pool2d_with_indices"}
"""Operations of torch whose result has no code but those of its operands, and 0."""

CODES = frozenset(
    {
        "QuantAdd",
        "QuantCachedRows",
        "QuantEmbedding",
        "QuantHardtanh",
        "QuantShiftAffine",
        "QuantTokenEmbedding",
        "Requantized",
    }
)
"""Kinds of quantized layers whose result has the codes of a quantizer, or one more bit; nonlinear ones are, too."""


class QuantAvgPool2d(AvgPool2d):
    """`AvgPool2d` of codes: an input quantizer, then the exact means."""

    def __init__(self, layer: AvgPool2d, bits: int, signed: bool) -> None:
        super().__init__(layer.kernel_size, layer.stride, layer.padding)
        self.input_quant = ActivationQuant(bits, signed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the means of the quantized x.

        Parameters
        ----------
        x : float tensor, shape (N, C, H, W)
            Activations.

        Returns
        -------
        float tensor, shape (N, C, H', W')
            Exact means of codes times the scale.
        """
        return super().forward(self.input_quant(x))


class QuantGlobalAvgPool2d(GlobalAvgPool2d):
    """`GlobalAvgPool2d` of codes: an input quantizer, then the exact means."""

    def __init__(self, layer: GlobalAvgPool2d, bits: int, signed: bool) -> None:
        super().__init__()
        self.input_quant = ActivationQuant(bits, signed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the means of the quantized x.

        Parameters
        ----------
        x : float tensor, shape (N, C, H, W)
            Activations.

        Returns
        -------
        float tensor
            What `GlobalAvgPool2d` gives, exact for codes times the scale.
        """
        return super().forward(self.input_quant(x))


POOLS: dict[type[nn.Module], type[nn.Module]] = {AvgPool2d: QuantAvgPool2d, GlobalAvgPool2d: QuantGlobalAvgPool2d}
"""The quantized layer for each pool."""


class _Codes(TorchDispatchMode):
    """Knows which values are codes: the inputs, results of layers of `CODES`, and what selects from them."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[int, torch.Tensor] = {}  # kept alive: an id is unique only while its tensor lives

    def add(self, x: torch.Tensor) -> None:
        """Take x for codes."""
        self._found[id(x)] = x

    def __contains__(self, x: torch.Tensor) -> bool:
        return id(x) in self._found

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        selects = func.overloadpacket.__name__.removesuffix("_") in SELECTING
        same = selects and all(x in self for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor))
        for x in tree_leaves(result):
            if same:
                self.add(x)
            else:  # an operation in place gives its operand
                self._found.pop(id(x), None)
        return result


@torch.no_grad()
def pools_of_sums(
    model: nn.Module, inputs: tuple[torch.Tensor, ...], kinds: Mapping[str, str], nonlinear: Collection[str]
) -> dict[str, str]:
    """Return the kind of the quantized layer, by path, for each mean pool of `model` that needs a quantizer.

    Parameters
    ----------
    model : module
        A folded float network in eval mode.
    inputs : tensors [N, ...]
        Two samples are enough: shapes count, not values.
    kinds : by path
        What replaces each other layer.
    nonlinear : strs
        The kinds of quantized nonlinear layers.
    """
    found: dict[str, str] = {}
    pools = {path: layer for path, layer in model.named_modules() if type(layer) in POOLS}
    if not pools:
        return found
    codes = _Codes()

    def meet(path: str, layer: nn.Module, x: torch.Tensor) -> None:
        if math.prod(getattr(layer, "kernel_size", x.shape[-2:])) > MANY and x not in codes:
            found[path] = POOLS[type(layer)].__name__

    hooks = [
        layer.register_forward_pre_hook(lambda layer, arguments, path=path: meet(path, layer, arguments[0]))
        for path, layer in pools.items()
    ]
    hooks += [
        model.get_submodule(path).register_forward_hook(lambda layer, arguments, result: codes.add(result))
        for path, kind in kinds.items()
        if kind in CODES or kind in nonlinear
    ]
    for x in inputs:
        codes.add(x)
    try:
        with codes:
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return found
