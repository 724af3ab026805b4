"""`count_module`: the operations of a torch module that was never built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from mfsim.analysis.count import CountReport, check_counted, check_rule, check_taps, paper_rows
from mfsim.errors import ModelError, ShapeError, did_you_mean
from mfsim.nn.functional import OBSERVERS
from mfsim.op_counter import aten
from mfsim.op_counter.layers import layer_rule
from mfsim.op_counter.sized import counting_taps
from mfsim.op_counter.watch import Watch, Watched, watch_layers


@dataclass(frozen=True)
class Input:
    """One example input: `shape` without the batch axis, `integer` for tokens, else float32.

    >>> Input.parse("3x32x32"), Input.parse("128:int")
    (Input(shape=(3, 32, 32), integer=False), Input(shape=(128,), integer=True))
    """

    shape: tuple[int, ...]
    integer: bool = False

    @classmethod
    def parse(cls, text: str) -> Input:
        """Return the input that a text describes.

        Parameters
        ----------
        text : str
            Sizes of at least 1 with x between, and `:int` behind for tokens or `:float`, such as "3x32x32".

        Returns
        -------
        Input

        Raises
        ------
        ShapeError
            If the text is anything else.
        """
        sizes, _, kind = text.partition(":")
        if kind not in ("", "int", "float"):
            raise ShapeError(
                f"the kind of an input must be int or float, not {kind!r}{did_you_mean(kind, ('int', 'float'))}"
            )
        try:
            shape = tuple(int(n) for n in sizes.split("x"))
        except ValueError:
            shape = ()
        if not shape or min(shape) < 1:
            raise ShapeError(
                f"an input must be sizes of at least 1 with x between, such as 3x32x32 or 128:int, not {text!r}"
            )
        return cls(shape, kind == "int")

    def tensor(self) -> torch.Tensor:
        """Return an example, a batch of one."""
        return torch.zeros(1, *self.shape, dtype=torch.int64 if self.integer else torch.float32)


@dataclass(frozen=True)
class ModuleCount:
    """What `count_module` found: the operations, and the number of parameters (tied ones once)."""

    report: CountReport
    parameters: int


def count_module(
    build: Callable[[], nn.Module],
    inputs: Sequence[Input],
    rule: str = "full",
    allow_uncounted: bool = False,
    taps: str = "executed",
) -> ModuleCount:
    """Return the operations of one sample of a float module, and its number of parameters.

    Parameters
    ----------
    build : makes the module; it runs under fake tensors, so that its weights take no memory.
    inputs : the example inputs; an integer one stands for tokens.
    rule, allow_uncounted, taps : as in `mfsim.analysis.count`.

    Raises
    ------
    CountError
        If `rule` or `taps` is unknown, or an operation has no known count and that is not allowed. It names the operation.
    ModelError
        If the module cannot be made, or cannot run on the inputs.
    """
    check_rule(rule)
    check_taps(taps)
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), counting_taps(taps):
        model = _tried("the module cannot be made", build)
        if not isinstance(model, nn.Module):
            raise ModelError(f"what is counted must be a torch module, not {type(model).__name__}")
        model.eval()
        watch = Watch(aten.RULES, aten.FREE)
        examples = [given.tensor() for given in inputs]
        watch.mark(examples, "activation")
        watch.mark(list(model.parameters()), "learned")
        parameters = sum(p.numel() for p in model.parameters())
        watch_layers(model, watch, layer_rule)
        with watch, _as_written(watch):
            _tried(f"the module cannot run on inputs {[given.shape for given in inputs]}", lambda: model(*examples))
    return ModuleCount(_report(watch.watched, rule, allow_uncounted, taps), parameters)


@contextmanager
def _as_written(watch: Watch) -> Iterator[None]:
    """Let torch run encoder layers as they are written, not as one fused operation, and `watch` run those of `mfsim.nn`."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    OBSERVERS.append(watch.operation)
    try:
        yield
    finally:
        OBSERVERS.pop()
        torch.backends.mha.set_fastpath_enabled(before)


def _tried(what: str, action: Callable[[], Any]) -> Any:
    try:
        return action()
    except Exception as error:  # whatever a stranger's module raises
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{what}: {reason[0]}") from error


def _report(watched: Watched, rule: str, allow_uncounted: bool, taps: str) -> CountReport:
    if not allow_uncounted:
        check_counted(watched.uncounted)
    rows = watched.rows
    if rule == "paper":
        rows = paper_rows(rows)
    layers, nodes = tuple(watched.layers), tuple(watched.nodes)
    return CountReport(rule, tuple(rows), (), tuple(watched.uncounted), layers, nodes, taps)
