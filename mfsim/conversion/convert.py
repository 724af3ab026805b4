"""`convert`: a copy of a network with layers swapped by rules, and a report of what was done."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from mfsim.conversion.layers import ABOUT, NAMES, Made, described, make
from mfsim.conversion.report import Change, Conversion, Left
from mfsim.conversion.rules import Rule, Rules, with_parents
from mfsim.errors import ConversionError, MfsimError, ModelError, UnsupportedOpError
from mfsim.keywords import check_keywords
from mfsim.nn import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.quant.fold import replace_module

READERS = (nn.MultiheadAttention, nn.TransformerEncoderLayer)
"""Modules of torch that read the weights of layers inside them without calling the layers."""


@check_keywords
def convert(
    model: nn.Module,
    rules: Rules | Sequence[Mapping[str, Any]],
    *,
    example: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
    seed: int = 0,
) -> Conversion:
    """Return a copy of `model` with layers swapped by `rules`, and what became of each.

    Parameters
    ----------
    model : module
        Any network; left as it is. The copy has the same module paths.
    rules : Rules, or a list of tables
        See `mfsim.conversion.rules`.
    example : tensor or tuple of tensors
        Inputs for which the copy is run, in eval mode, to see that every new layer is called.
    seed : int
        Of the weights of new layers that take none over; the global random state is left as it was.

    Raises
    ------
    ConversionError
        If a rule matches no module or no layer that it could be about, or two rules ask different things
        of one module.
    UnsupportedOpError
        If a layer cannot become what a rule asks; the message names it.
    ModelError
        If the model cannot be copied, or the copy cannot run on `example` or does not call a new layer.

    Examples
    --------
    >>> from torch import nn
    >>> network = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> conversion = convert(network, [{"match": "2", "to": "mf"}])
    >>> [(change.was, change.became) for change in conversion.changes]
    [('Linear 4 to 2', 'MFLinear 4 to 2, ef')]
    """
    rules = rules if isinstance(rules, Rules) else Rules.from_list(rules)
    try:
        converted = copy.deepcopy(model)
    except Exception as error:  # whatever a stranger's module raises
        raise ModelError(f"the model cannot be copied: {error}") from error
    places = _places(converted)
    rules.check(path for _, paths in places for path in paths)
    _check_subjects(rules, places)
    before = _parameters(converted)
    changes: list[Change] = []
    left: list[Left] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for module, paths in places:
            rule = _rule_for(rules, module, paths)
            if rule is None or rule.to == "keep":
                left += _left(module, paths[0], rule)
                continue
            made = _make(converted, module, paths, rule)
            changes.append(_change(module, made, paths, rule))
            converted = replace_module(converted, paths[0], made.layer)
    if example is not None:
        _check_runs(converted, example, changes)
    return Conversion(converted, tuple(changes), tuple(left), before, _parameters(converted))


def _places(model: nn.Module) -> list[tuple[nn.Module, list[str]]]:
    """Return every module once, with all its paths."""
    found: dict[int, tuple[nn.Module, list[str]]] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        found.setdefault(id(module), (module, []))[1].append(path)
    return list(found.values())


def _check_subjects(rules: Rules, places: list[tuple[nn.Module, list[str]]]) -> None:
    for rule in rules.rules:
        covered = [(path, module) for module, paths in places for path in paths if rule.covers(path)]
        if not any(isinstance(module, ABOUT[rule.to]) for _, module in covered):
            shown = ", ".join(f"`{path}` ({type(module).__name__})" for path, module in covered[:4])
            raise ConversionError(f"{rule.where} (to {rule.to}) is about {NAMES[rule.to]}, and matches only {shown}")


def _rule_for(rules: Rules, module: nn.Module, paths: list[str]) -> Rule | None:
    """Return the rule that holds for a module at all of its paths."""
    found = []
    for path in paths:
        about = [rule for rule in rules.rules if isinstance(module, ABOUT[rule.to]) and rule.covers(path)]
        found.append(about[-1] if about else None)
    wanted = [rule.to_dict() | {"match": ""} if rule is not None else None for rule in found]
    for path, other in zip(paths, wanted, strict=True):
        if other != wanted[0]:
            raise ConversionError(
                f"`{paths[0]}` and `{path}` are one module, for which the rules must say the same; "
                "write a rule that matches both"
            )
    return found[0]


def _left(module: nn.Module, path: str, rule: Rule | None) -> list[Left]:
    own = sum(p.numel() for p in module.parameters(recurse=False))
    if own or not any(True for _ in module.children()):
        return [Left(path or "(network)", type(module).__name__, own, rule.match if rule is not None else "")]
    return []


def _make(model: nn.Module, module: nn.Module, paths: list[str], rule: Rule) -> Made:
    cannot = f"layer `{paths[0]}` ({type(module).__name__}) cannot become {rule.to}, as {rule.where} asks: "
    for path in paths:
        for around in with_parents(path)[:-1]:
            if isinstance(model.get_submodule(around), READERS):
                kind = type(model.get_submodule(around)).__name__
                raise UnsupportedOpError(f"{cannot}`{around}` ({kind}) reads its weights without calling it")
    try:
        return make(module, rule.to, rule.options)
    except MfsimError as error:
        raise type(error)(cannot + str(error)) from error


def _change(module: nn.Module, made: Made, paths: list[str], rule: Rule) -> Change:
    return Change(
        layer=paths[0],
        was=described(module),
        became=described(made.layer),
        parameters_before=_parameters(module),
        parameters_after=_parameters(made.layer),
        kept=made.kept,
        note=made.note,
        rule=rule.match,
        also_at=tuple(paths[1:]),
    )


def _parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@torch.no_grad()
def _check_runs(model: nn.Module, example: torch.Tensor | tuple[torch.Tensor, ...], changes: list[Change]) -> None:
    """Run a copy of `model` and raise `ModelError` unless every new layer is called."""
    inputs = example if isinstance(example, tuple) else (example,)
    trial = copy.deepcopy(model).eval()
    called: dict[str, int] = {}
    for change in changes:

        def watch(module: nn.Module, arguments: tuple[Any, ...], path: str = change.layer) -> None:
            called[path] = arguments[0].ndim

        trial.get_submodule(change.layer).register_forward_pre_hook(watch)
    try:
        trial(*inputs)
    except Exception as error:
        shapes = ", ".join(str(tuple(x.shape)) for x in inputs)
        raise ModelError(f"the converted model cannot run on an input of shape {shapes}: {error}") from error
    for change in changes:
        layer = trial.get_submodule(change.layer)
        if change.layer not in called:
            raise ModelError(
                f"the converted layer `{change.layer}` is not called, so its weights are read elsewhere or not at all; "
                'keep it, with a rule `to` "keep"'
            )
        flat = isinstance(layer, ShiftBatchNorm1d) and not isinstance(layer, ShiftBatchNorm2d)
        if flat and called[change.layer] != 2:
            raise ModelError(
                f"`{change.layer}` normalises axis 1 of {called[change.layer]} axes, which ShiftBatchNorm1d cannot; keep it, "
                'with a rule `to` "keep"'
            )
