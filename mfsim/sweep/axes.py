"""`Axis`: one key of a recipe, the values that it takes in a sweep, and the layers that it is limited to.

    KEY[@PATTERN]=VALUES        weight=2:8      activation=4,6,8      accumulator@head=12:24:4,proved

VALUES has commas between single values and ranges; a range `first:last[:step]` holds both ends where
the step meets the last. KEY is one of a recipe for layers, and its values are those of the recipe.
PATTERN is one over module paths, as in a recipe; without one the axis is the whole network's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mfsim.errors import SweepError, did_you_mean
from mfsim.keywords import check_constructor, check_keywords
from mfsim.quant.recipe import LAYER_KEYS, LayerRecipe

Value = int | str | bool
"""What a key of a recipe can be set to."""


@check_constructor
@dataclass(frozen=True)
class Axis:
    """`key` of a recipe and the `values` that it takes, in the layers that `pattern` matches.

    >>> Axis.parse("weight=2:8:3,4")
    Axis(key='weight', values=(2, 5, 8, 4), pattern='')
    """

    key: str
    values: tuple[Value, ...]
    pattern: str = ""

    def __post_init__(self) -> None:
        if self.key not in LAYER_KEYS:
            hint = did_you_mean(self.key, LAYER_KEYS) or f"; the axes are {', '.join(LAYER_KEYS)}"
            raise SweepError(f"`{self.key}` is no axis of a sweep{hint}")
        if not self.values:
            raise SweepError(f"the axis `{self.name}` must have at least one value")
        for value in self.values:
            _check(self.key, value)

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Return the axis in a text of the form of the module header.

        Parameters
        ----------
        text : str
            KEY=VALUES or KEY@PATTERN=VALUES, such as "weight=2:8" or "weight@head=4,6".

        Returns
        -------
        Axis
            The axis, each value once in order of appearance.

        Raises
        ------
        SweepError
            If the text has another form, the key is unknown, or a range is empty.
        RecipeError
            If a value is none of the key's, such as 1 bit.
        """
        left, equals, right = text.partition("=")
        key, at, pattern = left.strip().partition("@")
        if not equals or (at and not pattern):
            raise SweepError(
                f"an axis must be KEY=VALUES or KEY@PATTERN=VALUES, such as weight=2:8 or weight@head=4,6, not {text!r}"
            )
        parts = [part.strip() for part in right.split(",") if part.strip()]
        if key not in LAYER_KEYS or not parts:
            return cls(key, (), pattern)
        values = [value for part in parts for value in _values(key, part)]
        return cls(key, tuple(dict.fromkeys(values)), pattern)

    @property
    def name(self) -> str:
        """The key, and the pattern if there is one: `weight`, `weight@head`."""
        return f"{self.key}@{self.pattern}" if self.pattern else self.key

    def within(self, pattern: str) -> Axis:
        """Return the axis limited to `pattern`, unless it has a pattern of its own.

        Parameters
        ----------
        pattern : str
            A pattern of layer paths; "" for all layers.

        Returns
        -------
        Axis
            This axis if it has a pattern, else one with `pattern`.
        """
        return self if self.pattern else Axis(self.key, self.values, pattern)

    def __str__(self) -> str:
        return f"{self.name}={','.join(value_text(value) for value in self.values)}"


@check_keywords
def parse_axes(texts: Sequence[str], pattern: str = "") -> tuple[Axis, ...]:
    """Return the axes in `texts`, each of them limited to `pattern` unless it has its own.

    Parameters
    ----------
    texts : sequence of str, at least one
        Axes in the form of `Axis.parse`.
    pattern : str
        A pattern of layer paths for axes without one; "" for all layers.

    Returns
    -------
    tuple of Axis
        In the order of `texts`.

    Raises
    ------
    SweepError
        If there is no axis, two have one name, or a text is no axis.
    RecipeError
        If a value is none of its key's, such as 1 bit.
    """
    axes = tuple(Axis.parse(text).within(pattern) for text in texts)
    if not axes:
        raise SweepError("a sweep needs at least one axis, such as weight=2:8")
    _check_names(axes)
    return axes


def value_text(value: Value | None) -> str:
    """Return a value as it stands in an axis; None, the run's own, is an empty text.

    Parameters
    ----------
    value : int, str, bool or None
        A value on an axis.

    Returns
    -------
    str
        "true" and "false" for a bool.
    """
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_names(axes: Iterable[Axis]) -> None:
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise SweepError(f"the axis `{name}` is given twice; give all its values in one, such as {name}=4,6,8")


def _values(key: str, part: str) -> list[Value]:
    """Return the values of a single value or of a range."""
    if ":" not in part:
        return [_value(part)]
    numbers = part.split(":")
    if len(numbers) not in (2, 3) or not all(number.strip().isdecimal() for number in numbers):
        raise SweepError(f"a range must be first:last or first:last:step, such as 2:8, not {part!r}")
    first, last, step = (int(number) for number in (*numbers, "1")[:3])
    if step < 1:
        raise SweepError(f"the step of the range `{part}` must be at least 1, not {step}")
    if first > last:
        raise SweepError(f"the range `{part}` of the axis `{key}` is empty: {first} is greater than {last}")
    for end in (first, last):  # before a range of a billion bits is written out
        _check(key, end)
    return list(range(first, last + 1, step))


def _value(text: str) -> Value:
    if text.isdecimal():
        return int(text)
    return {"true": True, "false": False}.get(text, text)


def _check(key: str, value: Value) -> None:
    LayerRecipe(**{key: value})  # type: ignore[arg-type]  # the recipe itself refuses what it does not take
