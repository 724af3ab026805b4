"""`Rules`: which layers of a network become what, by patterns over module paths.

In TOML, one table for each rule:

    [[rules]]
    match = "*"         # a module path, or a pattern over module paths
    to = "mf"           # mf, wht, shift or keep
    sign_zero = 1       # options of the new layer

    [[rules]]
    match = "layer4"
    to = "keep"

A pattern that matches a module holds for everything inside it as well. A rule is only about layers that
its `to` can mean: mf and wht about linear layers and convolutions, shift about batch norms, keep about
everything. Of several rules about one layer the last one holds.
"""

from __future__ import annotations

import fnmatch
import os
import pathlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mfsim.errors import ConversionError, did_you_mean
from mfsim.keywords import check_constructor

MF_OPTIONS: dict[str, type] = {"form": str, "sign_zero": int, "grid": str}
WHT_OPTIONS: dict[str, type] = {
    "over": str,
    "plane": list,
    "norm": bool,
    "residual": bool,
    "order": str,
    "size": str,
    "threshold": float,
}
OPTIONS: dict[str, dict[str, type]] = {
    "mf": MF_OPTIONS | {"norm": bool},
    "wht": WHT_OPTIONS | MF_OPTIONS,
    "shift": {},
    "keep": {},
}
"""What a rule may say besides `match` and `to`, and in which type; as in the new layer's class."""


@check_constructor
@dataclass(frozen=True)
class Rule:
    """Layers that `match` become `to`.

    Attributes
    ----------
    match : a module path, or a pattern over module paths.
    to : mf, wht, shift or keep.
    options : of the new layer: of `MFLinear` and `MFConv2d`, or of `WHTLayer`; `norm` true puts a batch norm
        with power-of-two gains behind an MF product.
    """

    match: str
    to: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.match, str) or not self.match:
            raise ConversionError(f"`match` of a rule must be a module path or a pattern, not {self.match!r}")
        if not isinstance(self.to, str) or self.to not in OPTIONS:
            hint = did_you_mean(str(self.to), OPTIONS)
            raise ConversionError(f"`to` of {self.where} must be one of {', '.join(OPTIONS)}, not {self.to!r}{hint}")
        known = OPTIONS[self.to]
        for name, value in self.options.items():
            if name not in known:
                hint = did_you_mean(name, known) or f"; the options of {self.to} are {', '.join(known) or 'none'}"
                raise ConversionError(f"`{name}` is no option of {self.where}{hint}")
            if not _is(value, known[name]):
                raise ConversionError(f"`{name}` of {self.where} must be of type {known[name].__name__}, not {value!r}")

    @property
    def where(self) -> str:
        """The rule as errors name it."""
        return f"the rule `{self.match}`"

    def covers(self, path: str) -> bool:
        """Whether the pattern matches the module at `path` or one around it.

        Parameters
        ----------
        path : str
            Of a module, such as `layer4.0.conv1`.

        Returns
        -------
        bool
        """
        return any(fnmatch.fnmatchcase(name, self.match) for name in with_parents(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as its table in TOML."""
        return {"match": self.match, "to": self.to, **self.options}


@check_constructor
@dataclass(frozen=True)
class Rules:
    """All rules, in order.

    >>> Rules.from_list([{"match": "*", "to": "mf"}, {"match": "fc", "to": "keep"}]).rules[1].covers("fc")
    True
    """

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ConversionError("a conversion needs at least one rule, with `match` and `to`")

    @classmethod
    def from_list(cls, tables: Sequence[Mapping[str, Any]]) -> Rules:
        """Return the rules in a list of tables.

        Parameters
        ----------
        tables : list or tuple of mappings
            Each with `match`, `to` and options.

        Returns
        -------
        Rules

        Raises
        ------
        ConversionError
            If there are none, or a table says something that cannot be done.
        """
        if not isinstance(tables, (list, tuple)) or not all(isinstance(table, Mapping) for table in tables):
            raise ConversionError(f"`rules` must be a list of tables, each with `match` and `to`, not {tables!r}")
        return cls(tuple(_rule(table) for table in tables))

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Rules:
        """Return the rules in a TOML file, or in a text that has a line break in it.

        Parameters
        ----------
        source : str or os.PathLike
            The path of a UTF-8 file, or the text.

        Returns
        -------
        Rules

        Raises
        ------
        ConversionError
            If it cannot be read, is no TOML, or says something that cannot be done.
        """
        if isinstance(source, str) and "\n" in source:
            text = source
        else:
            try:
                text = pathlib.Path(source).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConversionError(f"the rules `{source}` cannot be read: {error}") from error
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConversionError(f"the rules are no TOML: {error}") from error
        for key in content:
            if key != "rules":
                raise ConversionError(f"rules must be tables [[rules]], not `{key}`{did_you_mean(key, ['rules'])}")
        return cls.from_list(content.get("rules", []))

    def to_list(self) -> list[dict[str, Any]]:
        """Return the tables; `from_list` gives equal rules back."""
        return [rule.to_dict() for rule in self.rules]

    def check(self, paths: Iterable[str]) -> None:
        """Check that every rule covers a module.

        Parameters
        ----------
        paths : iterable of str
            Of the network's modules.

        Raises
        ------
        ConversionError
            For the first rule that covers none.
        """
        paths = list(paths)
        for rule in self.rules:
            if not any(rule.covers(path) for path in paths):
                named = [path for path in paths if path]
                hint = did_you_mean(rule.match, named) or f"; it has {', '.join(f'`{p}`' for p in named[:8])}"
                raise ConversionError(f"{rule.where} matches no module of the network{hint}")


def with_parents(path: str) -> list[str]:
    """Return the paths of the modules around `path`, outermost first.

    Parameters
    ----------
    path : str
        Of a module, names with dots between.

    Returns
    -------
    list of str
        The last is `path` itself.
    """
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _rule(table: Mapping[str, Any]) -> Rule:
    for key in ("match", "to"):
        if key not in table:
            raise ConversionError(f"a rule must have `{key}`, and {dict(table)} has none")
    options = {name: value for name, value in table.items() if name not in ("match", "to")}
    return Rule(table["match"], table["to"], options)


def _is(value: object, kind: type) -> bool:
    if kind is list:
        return isinstance(value, (list, tuple)) and all(_is(entry, int) for entry in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
