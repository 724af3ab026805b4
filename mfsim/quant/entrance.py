"""Whether a quantized network needs a quantizer of its own at the entrance.

The codes of an input are those of the quantizer that reads it, with nothing but moved data between.
Where something else reads the input first (a pooling layer, a residual), or several quantizers do, one
more quantizer is needed in front of all of them. A run of the network is watched, operation by
operation, for what reads the input's own values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mfsim.quant.quantizers import ActivationQuant

MOVING = frozenset(
    (
        "alias",
        "detach",
        "permute",
        "reshape",
        "squeeze",
        "t",
        "transpose",
        "unsqueeze",
        "view",
        "_unsafe_view",
        "_reshape_alias",
    )
)
"""Operations of torch that only move data."""


class _Watch(TorchDispatchMode):
    """Follows the values of the inputs; `readers` counts quantizers, `bare` says that something else read them."""

    def __init__(self, inputs: tuple[torch.Tensor, ...]) -> None:
        super().__init__()
        self._raw = list(inputs)  # kept alive: an id is unique only while its tensor lives
        self._ids = {id(x): k for k, x in enumerate(inputs)}
        self.inside: list[nn.Module] = []
        self.readers: dict[int, set[int]] = {k: set() for k in range(len(inputs))}
        self.bare = False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        sources = [self._ids[id(x)] for x in tree_leaves((args, kwargs)) if id(x) in self._ids]
        if not sources:
            return result
        if self.inside:
            for source in sources:
                self.readers[source].add(id(self.inside[0]))
        elif func.overloadpacket.__name__ in MOVING:
            for x in tree_leaves(result):
                self._raw.append(x)
                self._ids[id(x)] = sources[0]
        else:
            self.bare = True
        return result


@torch.no_grad()
def needs_entrance(network: nn.Module, inputs: tuple[torch.Tensor, ...]) -> bool:
    """Whether anything but one quantizer reads the values of an input of `network`, a network of quantized layers."""
    watch = _Watch(inputs)
    hooks = []
    for module in network.modules():
        if isinstance(module, ActivationQuant):
            hooks.append(module.register_forward_pre_hook(lambda module, arguments: watch.inside.append(module)))
            hooks.append(module.register_forward_hook(lambda module, arguments, result: watch.inside.pop() and None))
    try:
        with watch:
            network(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return watch.bare or any(len(readers) > 1 for readers in watch.readers.values())
