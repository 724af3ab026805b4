"""Watch a torch module run on fake tensors: what it executes, in which layer, and on what.

The module is made and run inside `FakeTensorMode`, so that no weight is ever in memory. Each operation
that reaches ATen is handed to the rules of `mfsim/op_counter/aten.py`; the layers and functions of mfsim
are handed to `mfsim/op_counter/layers.py` as a whole, since what torch executes for them (a product with a
matrix of signs, a product for each part of an MF sum) is not what a device executes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mfsim.analysis.count import Uncounted
from mfsim.errors import UnsupportedOpError
from mfsim.ops.op import Row

SOURCES = ("fixed", "learned", "activation")
"""Where a value comes from: constants of the code, parameters (and constants), inputs (and anything)."""


@dataclass(frozen=True)
class Call:
    """One operation as the rules see it.

    Attributes
    ----------
    name : of the ATen operation, without overload, or of the layer.
    arguments, options : what it was called with.
    result : what it returned.
    source : for each tensor, a name of `SOURCES`.
    """

    name: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    result: Any
    source: Callable[[Any], str]

    @property
    def y(self) -> torch.Tensor:
        """The first tensor of the result."""
        first: torch.Tensor = next(x for x in tree_leaves(self.result) if isinstance(x, torch.Tensor))
        return first


Rule = Callable[[Call], list[Row]]


@dataclass
class Watched:
    """What was seen: rows, operations without a rule, layers in order, and (layer, node, op) of every node."""

    rows: list[Row] = field(default_factory=list)
    uncounted: list[Uncounted] = field(default_factory=list)
    layers: dict[str, None] = field(default_factory=dict)
    nodes: list[tuple[str, str, str]] = field(default_factory=list)


class Watch(TorchDispatchMode):
    """Follows every tensor from inputs and parameters on, and counts what it is used for."""

    def __init__(self, rules: Mapping[str, Rule], free: frozenset[str]) -> None:
        super().__init__()
        self.rules, self.free = rules, free
        self.watched = Watched()
        self._path: list[str] = []
        self._used: Counter[str] = Counter()
        self._inside = 0
        self._sources: dict[int, str] = {}
        self._alive: list[torch.Tensor] = []  # an id is unique only while its tensor lives

    def source(self, x: Any) -> str:
        """Return where a tensor or a number comes from.

        Parameters
        ----------
        x : object
            A tensor or a number.

        Returns
        -------
        {"fixed", "learned", "activation"}
            "fixed" for what was never marked.
        """
        return self._sources.get(id(x), "fixed")

    def mark(self, tensors: Any, source: str) -> None:
        """Say where tensors come from.

        Parameters
        ----------
        tensors : tensor, or nested containers of tensors
        source : {"fixed", "learned", "activation"}
        """
        for x in tree_leaves(tensors):
            if isinstance(x, torch.Tensor):
                self._sources[id(x)] = source
                self._alive.append(x)

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not any(isinstance(x, torch.Tensor) for x in tree_leaves(result)):
            return result  # a question about a shape or a device
        self._came_from(args, kwargs or {}, result)
        made = next(x for x in tree_leaves(result) if isinstance(x, torch.Tensor))
        if not self._inside and name not in self.free and self.source(made) != "fixed":
            self.count(self.rules.get(name), Call(name, tuple(args), kwargs or {}, result, self.source))
        return result

    def _came_from(self, args: Any, kwargs: Any, result: Any) -> None:
        sources = [self.source(x) for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if sources:
            self.mark(result, max(sources, key=SOURCES.index))

    def count(self, rule: Rule | None, call: Call) -> None:
        """Add the rows of a call, or name it where there is no rule for it.

        Parameters
        ----------
        rule : Rule or None
            None where no rule is known.
        call : Call
            The operation, already run.
        """
        layer = self._path[-1] if self._path else ""
        node = f"{layer}/{call.name}" if layer else call.name
        self._used[node] += 1
        node = f"{node}.{self._used[node]}" if self._used[node] > 1 else node
        offline = self.source(call.y) != "activation"
        self.watched.nodes.append((layer, node, call.name))
        try:
            rows = rule(call) if rule is not None else None
        except UnsupportedOpError as error:
            self.watched.uncounted.append(Uncounted(layer, node, call.name, str(error)))
            return
        if rows is None:
            reason = f"no count is known for `{call.name}` of torch"
            self.watched.uncounted.append(Uncounted(layer, node, call.name, reason))
            return
        self.watched.rows += [
            replace(row, layer=layer, node=node, op=row.op or call.name, offline=row.offline or offline) for row in rows
        ]

    @contextmanager
    def layer(self, path: str) -> Iterator[None]:
        """Count what runs in the body for the layer at `path`.

        Parameters
        ----------
        path : str
            Of the layer in the module.

        Yields
        ------
        None
        """
        self._path.append(path)
        self.watched.layers.setdefault(path)
        try:
            yield
        finally:
            self._path.pop()

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Count nothing that runs in the body; where values come from is followed all the same."""
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def operation(self, name: str, run: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Run an operation of `mfsim.nn` that no layer calls: what torch executes for it is not what a device does.

        Parameters
        ----------
        name : str
            Of the operation.
        run : callable without arguments
            Computes its result.

        Returns
        -------
        tensor
            The result.
        """
        if self._inside:
            return run()
        with self.unseen():
            result = run()
        self.count(_without_layer, Call(name, (), {}, result, self.source))
        return result


def _without_layer(call: Call) -> list[Row]:
    raise UnsupportedOpError(
        f"what a device executes for `{call.name}` is not known here; use a layer of `mfsim.nn`, or count the integer program"
    )


def watch_layers(model: nn.Module, watch: Watch, whole: Callable[[nn.Module], Rule | None]) -> None:
    """Let `watch` know which layer of `model` runs; a layer for which `whole` has a rule is counted by it alone.

    Parameters
    ----------
    model : torch.nn.Module
        The forward methods of its modules are replaced.
    watch : Watch
    whole : callable
        Takes a module and returns its rule, or None.
    """
    for path, module in model.named_modules():
        forward = module.forward

        def watched(
            *args: Any,
            path: str = path,
            module: nn.Module = module,
            forward: Callable[..., Any] = forward,
            **kwargs: Any,
        ) -> Any:
            rule = whole(module)
            with watch.layer(path):
                if rule is None or watch._inside:
                    return forward(*args, **kwargs)
                with watch.unseen():
                    result = forward(*args, **kwargs)
                watch.count(rule, Call(type(module).__name__, args, kwargs, result, watch.source))
                return result

        module.forward = watched
