"""`Recipe`: what word everything gets, for the whole network and layer by layer.

In TOML, with the defaults:

    weight = 8              # bits of weights, signed and narrow
    activation = 8          # bits of the input of each layer
    residual = 16           # bits of the operands of sums and token embeddings, which carry what layers add to
    bias = 32               # bits of biases; their grid is the accumulator's
    accumulator = "proved"  # or bits: the word after product and bias
    overflow = "saturate"   # or "wrap": what a fixed accumulator word does
    threshold = "proved"    # or bits of soft thresholds, unsigned
    per_channel = false     # one weight scale, or one for each output channel
    calibration = "mse"     # or "max", "percentile": how activation scales are chosen
    input = "auto"          # or bits: a quantizer at the entrance; auto: only where the layers' own do not serve
    output = 16             # bits of the network's output

    [layers."features.*"]   # a module path, or a pattern over module paths
    weight = 4

A pattern that matches a module holds for everything inside it as well; where several match a layer,
the later one wins. Every word has 2 to 32 bits: one-bit narrow
weights would all be zero.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import pathlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mfsim.errors import RecipeError, did_you_mean
from mfsim.keywords import check_constructor

LEAST_BITS, MOST_BITS = 2, 32
PROVED = "proved"
AUTO = "auto"
CALIBRATIONS = ("mse", "max", "percentile")


@check_constructor
@dataclass(frozen=True)
class LayerRecipe:
    """The words of one layer; the fields are those of the module header."""

    weight: int = 8
    activation: int = 8
    residual: int = 16
    bias: int = 32
    accumulator: int | str = PROVED
    overflow: str = "saturate"
    threshold: int | str = PROVED
    per_channel: bool = False
    calibration: str = "mse"

    def __post_init__(self) -> None:
        for name in ("weight", "activation", "residual", "bias"):
            _check_bits(name, getattr(self, name))
        for name in ("accumulator", "threshold"):
            _check_bits(name, getattr(self, name), PROVED)
        _check_choice("overflow", self.overflow, ("saturate", "wrap"))
        _check_choice("calibration", self.calibration, CALIBRATIONS)
        if not isinstance(self.per_channel, bool):
            raise RecipeError(f"`per_channel` must be true or false, not {self.per_channel!r}")


LAYER_KEYS = tuple(f.name for f in fields(LayerRecipe))
KEYS = (*LAYER_KEYS, "input", "output", "layers")


@check_constructor
@dataclass(frozen=True)
class Recipe:
    """A whole recipe.

    Attributes
    ----------
    defaults : words of every layer that no pattern names.
    layers : for each pattern, the keys that differ, in order; a later pattern wins.
    input : bits of a quantizer at the network's entrance; "auto": `activation` bits where one is needed.
    output : bits of the network's output.

    >>> Recipe.from_dict({"weight": 4, "layers": {"head": {"weight": 8}}}).layer("head").weight
    8
    """

    defaults: LayerRecipe = field(default_factory=LayerRecipe)
    layers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    input: int | str = AUTO
    output: int = 16

    def __post_init__(self) -> None:
        _check_bits("input", self.input, AUTO)
        _check_bits("output", self.output)
        for pattern, changes in self.layers.items():
            if not isinstance(changes, Mapping):
                raise RecipeError(f"`layers.{pattern}` must be a table of keys, not {changes!r}")
            _check_keys(changes, LAYER_KEYS, f" of `layers.{pattern}`")
            try:
                replace(self.defaults, **changes)
            except RecipeError as error:
                raise RecipeError(f"in `layers.{pattern}`: {error}") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Recipe:
        """Return the recipe with the keys of the module header.

        Parameters
        ----------
        content : mapping of str to int, bool, str or mapping
            What is missing has its default.

        Returns
        -------
        Recipe

        Raises
        ------
        RecipeError
            If a key is unknown, or a value is out of its range.
        """
        _check_keys(content, KEYS, "")
        layers = content.get("layers", {})
        if not isinstance(layers, Mapping):
            raise RecipeError(f"`layers` must be a table of patterns, not {layers!r}")
        others = {name: content[name] for name in ("input", "output") if name in content}
        defaults = LayerRecipe(**{name: content[name] for name in LAYER_KEYS if name in content})
        return cls(defaults, dict(layers), **others)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Recipe:
        """Return the recipe in a TOML file, or in a text that has a line break or `=` in it.

        Parameters
        ----------
        source : str or os.PathLike
            The path of a UTF-8 file, or the text.

        Returns
        -------
        Recipe

        Raises
        ------
        RecipeError
            If the file cannot be read, is no TOML, or a key or value is wrong.
        """
        text = source if isinstance(source, str) and ("\n" in source or "=" in source) else None
        if text is None:
            try:
                text = pathlib.Path(source).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise RecipeError(f"the recipe `{source}` cannot be read: {error}") from error
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise RecipeError(f"the recipe is no TOML: {error}") from error

    def layer(self, path: str) -> LayerRecipe:
        """Return the words of the module at `path`.

        Parameters
        ----------
        path : str
            Of a module, such as `features.0`.

        Returns
        -------
        LayerRecipe
            The defaults, and over them what the matching patterns say.
        """
        changes: dict[str, Any] = {}
        for pattern, given in self.layers.items():
            if matches(pattern, path):
                changes |= given
        return replace(self.defaults, **changes) if changes else self.defaults

    def check(self, paths: Iterable[str]) -> None:
        """Check that every pattern matches a module, or one around it.

        Parameters
        ----------
        paths : iterable of str
            Of the network's modules.

        Raises
        ------
        RecipeError
            For the first pattern that matches none.
        """
        paths = dict.fromkeys(name for path in paths for name in _with_parents(path))
        for pattern in self.layers:
            if pattern not in paths and not any(fnmatch.fnmatchcase(path, pattern) for path in paths):
                hint = did_you_mean(pattern, paths) or f"; it has {', '.join(f'`{p}`' for p in list(paths)[:8])}"
                raise RecipeError(f"`layers.{pattern}` matches no layer of the network{hint}")

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the module header, all of them."""
        defaults = {name: getattr(self.defaults, name) for name in LAYER_KEYS}
        layers = {pattern: dict(changes) for pattern, changes in self.layers.items()}
        return defaults | {"input": self.input, "output": self.output, "layers": layers}

    def to_toml(self) -> str:
        """Return the recipe as TOML; `from_toml` gives an equal one back."""
        content = self.to_dict()
        lines = [f"{key} = {_toml(value)}" for key, value in content.items() if key != "layers"]
        for pattern, changes in content["layers"].items():
            lines += ["", f"[layers.{_toml(pattern)}]", *(f"{key} = {_toml(value)}" for key, value in changes.items())]
        return "\n".join(lines) + "\n"


@functools.lru_cache(maxsize=1 << 14)
def matches(pattern: str, path: str) -> bool:
    """Whether `pattern` matches the module at `path`, or one around it.

    Parameters
    ----------
    pattern : str
        As `fnmatch` takes it, with case.
    path : str
        Of a module.

    Returns
    -------
    bool

    Examples
    --------
    >>> matches("block*", "block1.conv"), matches("conv", "block1.conv")
    (True, False)
    """
    return any(fnmatch.fnmatchcase(name, pattern) for name in _with_parents(path))


def _with_parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _check_bits(name: str, bits: object, word: str | None = None) -> None:
    if word is not None and bits == word:
        return
    if isinstance(bits, bool) or not isinstance(bits, int) or not LEAST_BITS <= bits <= MOST_BITS:
        other = f' or "{word}"' if word else ""
        raise RecipeError(f"`{name}` must be in {LEAST_BITS}..{MOST_BITS} bits{other}, not {bits!r}")


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise RecipeError(f"`{name}` must be one of {', '.join(known)}, not {value!r}{did_you_mean(str(value), known)}")


def _check_keys(content: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in content:
        if key not in known:
            hint = did_you_mean(key, known) or f"; the keys are {', '.join(known)}"
            raise RecipeError(f"`{key}`{where} is no key of a recipe{hint}")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
