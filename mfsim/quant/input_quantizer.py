"""Which quantizers read a value, and whether a network needs one of its own at the entrance.

A run of the network is watched, operation by operation, for what reads the values of its inputs, or of
the results of some layers, with nothing but moved data between.

The codes of an input are those of the quantizer that reads it, with nothing but moved data between.
Where something else reads the input first (a pooling layer, a residual), or several quantizers do, one
more quantizer is needed in front of all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mfsim.quant.observer import floats
from mfsim.quant.quantizers import ActivationQuant

MOVING = frozenset(
    (
        "alias",
        "clone",
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

KEEPING = MOVING | {"expand", "index_select", "relu", "select", "slice", "split", "split_with_sizes", "unbind"}
"""Operations whose result has no code but those of its operand, and 0."""


class _Watch(TorchDispatchMode):
    """Follows values; `readers` holds the quantizers behind each source, `bare` says that something else read one."""

    def __init__(self, keeping: frozenset[str]) -> None:
        super().__init__()
        self._keeping = keeping
        self._raw: list[torch.Tensor] = []  # kept alive: an id is unique only while its tensor lives
        self._ids: dict[int, str] = {}
        self.inside: list[ActivationQuant] = []
        self.readers: dict[str, list[ActivationQuant]] = {}
        self.bare = False

    def follow(self, x: torch.Tensor, source: str) -> None:
        """Take x for a value of `source`."""
        self._raw.append(x)
        self._ids[id(x)] = source
        self.readers.setdefault(source, [])

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        sources = [self._ids[id(x)] for x in tree_leaves((args, kwargs)) if id(x) in self._ids]
        if not sources:
            return result
        if self.inside:
            for source in sources:
                if not any(reader is self.inside[0] for reader in self.readers[source]):
                    self.readers[source].append(self.inside[0])
        elif func.overloadpacket.__name__ in self._keeping:
            for x in tree_leaves(result):
                self.follow(x, sources[0])
        else:
            self.bare = True
        return result


@torch.no_grad()
def _watched(network: nn.Module, inputs: tuple[torch.Tensor, ...], watch: _Watch, layers: Collection[str]) -> _Watch:
    """Return `watch` after a run of `network` in which the results of `layers` were followed as well."""
    hooks = []
    for path, module in network.named_modules():
        if isinstance(module, ActivationQuant):
            hooks.append(module.register_forward_pre_hook(lambda module, arguments: watch.inside.append(module)))
            hooks.append(module.register_forward_hook(lambda module, arguments, result: watch.inside.pop() and None))
        elif path in layers:
            hooks.append(
                module.register_forward_hook(lambda module, arguments, result, path=path: watch.follow(result, path))
            )
    try:
        with watch:
            network(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return watch


def needs_input_quantizer(network: nn.Module, inputs: tuple[torch.Tensor, ...]) -> bool:
    """Whether anything but one quantizer reads the values of an input of `network`, a network of quantized layers.

    Integers, which number rows of embeddings, need none.

    Parameters
    ----------
    network : torch.nn.Module
        Of quantized layers.
    inputs : tuple of tensors, each of shape [N, ...]
        To run it once.

    Returns
    -------
    bool
    """
    watch = _Watch(MOVING)
    for k, x in enumerate(floats(inputs)):
        watch.follow(x, f"input {k}")
    _watched(network, inputs, watch, ())
    return watch.bare or any(len(readers) > 1 for readers in watch.readers.values())


def readers(
    network: nn.Module, inputs: tuple[torch.Tensor, ...], layers: Collection[str]
) -> dict[str, list[ActivationQuant]]:
    """Return the quantizers that read the result of each of `layers`, with nothing that rounds or adds between.

    Parameters
    ----------
    network : torch.nn.Module
        Of quantized layers.
    inputs : tuple of tensors, each of shape [N, ...]
        To run it once.
    layers : collection of str
        Paths in `network`.

    Returns
    -------
    dict of str to list of ActivationQuant
        By path of the layer.
    """
    return _watched(network, inputs, _Watch(KEEPING), layers).readers
