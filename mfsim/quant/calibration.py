"""`Calibration`: what is kept of a network's calibration, in its files too, so that its words can be changed later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mfsim.errors import ModelError
from mfsim.quant.recipe import AUTO, Recipe
from mfsim.quant.statistics import Statistics

VERSION = 1
"""Version of the text; it changes when scales chosen from the same text may change."""


_BEHIND = f',"version":{VERSION}}}'
"""The text behind the recipe."""


def _text(content: object) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, eq=False)
class Subject:
    """A layer that is quantized, as far as its words depend on it.

    Attributes
    ----------
    path : of the layer, float and quantized.
    kind : name of the quantized layer's class.
    statistics : of the values that decide each scale, by the quantizer's name; "" where the layer is one itself.
    facts : what of the float layer matters, as `json.dumps` takes it.
    """

    path: str
    kind: str
    statistics: Mapping[str, Statistics]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> Statistics:
        """The statistics of the values that decide the only scale."""
        (only,) = self.statistics.values()
        return only

    def at(self, name: str) -> str:
        """Return the path of the quantizer called `name`; the layer's own for an empty name.

        Parameters
        ----------
        name : str
            Of a quantizer in the layer, such as `weight_quant`; "" where the layer is one itself.

        Returns
        -------
        str
        """
        return f"{self.path}.{name}".strip(".")

    def to_dict(self) -> dict[str, Any]:
        """Return the layer as `json.dumps` takes it, exactly."""
        statistics = {name: seen.to_dict() for name, seen in self.statistics.items()}
        return {"path": self.path, "kind": self.kind, "statistics": statistics, "facts": dict(self.facts)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Subject:
        """Return the layer that `to_dict` wrote.

        Parameters
        ----------
        content : mapping
            The keys path, kind, statistics and facts.

        Returns
        -------
        Subject

        Raises
        ------
        KeyError, TypeError, ValueError
            If `content` is anything else.
        """
        statistics = {name: Statistics.from_dict(seen) for name, seen in content["statistics"].items()}
        return cls(content["path"], content["kind"], statistics, content["facts"])


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is kept of the calibration of a network.

    Attributes
    ----------
    recipe : by which its words are as they are.
    subjects : the layers that are quantized.
    outputs, entrances : what the outputs and inputs of the network were seen to be.
    needs_entrance : whether the layers' own quantizers do not serve for the inputs.
    """

    recipe: Recipe
    subjects: tuple[Subject, ...]
    outputs: tuple[Statistics, ...]
    entrances: tuple[Statistics, ...]
    needs_entrance: bool

    def entrance_bits(self, recipe: Recipe) -> int:
        """Return the bits of the quantizers at the entrance, or 0 where there are none.

        Parameters
        ----------
        recipe : Recipe

        Returns
        -------
        int
            0, or 2..32.
        """
        if recipe.input == AUTO:
            return recipe.defaults.activation if self.needs_entrance else 0
        return int(recipe.input)

    def to_text(self) -> str:
        """Return the calibration as JSON, exactly; equal ones give equal texts."""
        return f"{self._seen}{_text(self.recipe.to_toml())}{_BEHIND}"  # the order of its patterns counts

    def with_recipe(self, recipe: Recipe) -> Calibration:
        """Return the calibration with another recipe.

        Parameters
        ----------
        recipe : Recipe

        Returns
        -------
        Calibration
            It shares everything else.
        """
        made = replace(self, recipe=recipe)
        vars(made)["_seen"] = self._seen  # the longest part of the text, and the same
        return made

    @cached_property
    def _seen(self) -> str:
        """The text in front of the recipe."""
        content = {
            "entrances": [seen.to_dict() for seen in self.entrances],
            "layers": [subject.to_dict() for subject in self.subjects],
            "needs_entrance": self.needs_entrance,
            "outputs": [seen.to_dict() for seen in self.outputs],
        }
        return f'{_text(content)[:-1]},"recipe":'

    @classmethod
    def from_text(cls, text: str) -> Calibration:
        """Return the calibration that `to_text` wrote.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        Calibration

        Raises
        ------
        ModelError
            If the text is damaged, or of another version.
        """
        try:
            content = json.loads(text)
            if content["version"] != VERSION:
                raise ValueError("another version")
            return cls(
                Recipe.from_toml(content["recipe"]),
                tuple(map(Subject.from_dict, content["layers"])),
                tuple(map(Statistics.from_dict, content["outputs"])),
                tuple(map(Statistics.from_dict, content["entrances"])),
                bool(content["needs_entrance"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the calibration is damaged, or not of this version of mfsim: {error}") from error
