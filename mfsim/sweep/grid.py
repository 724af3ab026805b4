"""The points of a sweep: which recipe each of them has.

A grid is the product of its axes. Point 0 is the network's own recipe, to which all others are compared. An
axis of the whole network holds for every layer, so what the recipe says of single layers under that
key is dropped; an axis with a pattern, and a sensitivity sweep, leave everything else as it is.

A sensitivity sweep takes the product once for each layer, which alone gets the values; a layer takes
part if it has a word for one of the axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mfsim.errors import SweepError, did_you_mean
from mfsim.quant.recipe import Recipe, matches
from mfsim.sweep.axes import Axis, Value

Layers = Mapping[str, Sequence[str]]
"""For each layer that a recipe can name, the keys of the recipe that decide something in it."""


@dataclass(frozen=True)
class Point:
    """One point: its place in the sweep, the values on the axes (None: the network's own), and its whole recipe.

    `layer` is the one that has the values in a sensitivity sweep, and empty otherwise.
    """

    number: int
    layer: str
    values: tuple[Value | None, ...]
    recipe: Recipe


def grid(axes: Sequence[Axis], recipe: Recipe, layers: Layers, *, sensitivity: bool = False) -> list[Point]:
    """Return all points, the network's own `recipe` first.

    Parameters
    ----------
    axes : with different names.
    recipe : of the network.
    layers : of the network, with the keys that each has a use for.
    sensitivity : one layer at a time.

    Returns
    -------
    list of Point
        Point 0 first, then the product of the axes, or for a sensitivity sweep that of each layer.

    Raises
    ------
    SweepError
        If an axis matches no layer, or none that has a word of its key.
    """
    taking = [_taking(axis, layers) for axis in axes]
    products = itertools.product(*(axis.values for axis in axes))
    points = [Point(0, "", (None,) * len(axes), recipe)]
    if not sensitivity:
        return [*points, *(Point(k + 1, "", v, _changed(recipe, axes, v, taking)) for k, v in enumerate(products))]
    for layer in layers:
        taken = [layer in paths for paths in taking]
        if not any(taken):
            continue
        chosen = [axis.values if takes else (None,) for axis, takes in zip(axes, taken, strict=True)]
        for found in itertools.product(*chosen):
            changed = recipe
            for axis, value in zip(axes, found, strict=True):
                if value is not None:
                    changed = with_words(changed, [layer], axis.key, value)
            points.append(Point(len(points), layer, found, changed))
    return points


def _changed(recipe: Recipe, axes: Sequence[Axis], values: Sequence[Value], taking: Sequence[Sequence[str]]) -> Recipe:
    """Return `recipe` with the values on all axes: those of the whole network first, which drop what patterns say."""
    triples = list(zip(axes, values, taking, strict=True))
    for axis, value, _ in triples:
        if not axis.pattern:
            recipe = everywhere(recipe, axis.key, value)
    for axis, value, paths in triples:
        if axis.pattern:
            recipe = with_words(recipe, paths, axis.key, value)
    return recipe


def _taking(axis: Axis, layers: Layers) -> list[str]:
    """Return the layers in which `axis` decides something."""
    named = [path for path in layers if not axis.pattern or matches(axis.pattern, path)]
    if not named:
        hint = did_you_mean(axis.pattern, layers) or f"; it has {', '.join(f'`{path}`' for path in list(layers)[:8])}"
        raise SweepError(f"the pattern `{axis.pattern}` of the axis `{axis.key}` matches no layer of the network{hint}")
    taking = [path for path in named if axis.key in layers[path]]
    if not taking:
        where = f"no layer that `{axis.pattern}` matches" if axis.pattern else "no layer of the network"
        raise SweepError(f"{where} has a word for the axis `{axis.key}`")
    return taking


def everywhere(recipe: Recipe, key: str, value: Value) -> Recipe:
    """Return `recipe` with `key` set in every layer.

    Parameters
    ----------
    recipe : Recipe
        The recipe to start from, left as it is.
    key : str
        One of the keys of a layer, such as "weight".
    value : int, str or bool
        A value of that key.

    Returns
    -------
    Recipe
        `value` as the default of `key`, and no layer table with `key`.
    """
    tables = {
        pattern: {name: given for name, given in table.items() if name != key}
        for pattern, table in recipe.layers.items()
    }
    change: dict[str, Any] = {key: value}
    return replace(recipe, defaults=replace(recipe.defaults, **change), layers=tables)


def with_words(recipe: Recipe, paths: Sequence[str], key: str, value: Value) -> Recipe:
    """Return `recipe` with `key` set in the layers at `paths` and nothing else changed.

    The later pattern wins in a recipe, so the table of a layer goes to the end, with every key that would be
    another without it.

    Parameters
    ----------
    recipe : Recipe
        The recipe to start from, left as it is.
    paths : sequence of str
        Paths of layers.
    key : str
        One of the keys of a layer, such as "weight".
    value : int, str or bool
        A value of that key.

    Returns
    -------
    Recipe
        The changed recipe.
    """
    for path in paths:
        wanted = asdict(recipe.layer(path)) | {key: value}
        rest = replace(recipe, layers={pattern: table for pattern, table in recipe.layers.items() if pattern != path})
        without = asdict(rest.layer(path))
        table = {name: given for name, given in wanted.items() if given != without[name]}
        if table or path in recipe.layers:  # a table without keys still names a layer
            recipe = replace(rest, layers={**rest.layers, path: table})
    return recipe
