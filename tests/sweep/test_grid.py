"""Points: which recipe each has, and that nothing but the axes changes."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from mfsim.errors import SweepError
from mfsim.quant.recipe import LayerRecipe, Recipe
from mfsim.sweep.axes import parse_axes
from mfsim.sweep.grid import everywhere, grid, with_words

LAYERS = {
    "conv1": ("weight", "activation", "accumulator"),
    "block.conv": ("weight", "activation", "accumulator"),
    "block.threshold": ("threshold",),
    "head": ("weight", "activation", "accumulator"),
}
RECIPE = Recipe.from_dict({"weight": 8, "layers": {"block": {"weight": 6}, "head": {"activation": 10}, "block.*": {}}})


def words(recipe, key):
    return [getattr(recipe.layer(path), key) for path in LAYERS]


def test_the_networks_own_recipe_comes_first_and_axes_make_their_product():
    points = grid(parse_axes(["weight=2,3", "activation=4:6"]), RECIPE, LAYERS)
    assert [point.number for point in points] == list(range(7))
    assert points[0].recipe is RECIPE
    assert [point.values for point in points] == [(None, None), (2, 4), (2, 5), (2, 6), (3, 4), (3, 5), (3, 6)]
    for point in points[1:]:
        assert words(point.recipe, "weight") == [point.values[0]] * 4
        assert words(point.recipe, "activation") == [point.values[1]] * 4


def test_a_pattern_changes_the_layers_that_it_matches_alone():
    _, point = grid(parse_axes(["weight@block=3"]), RECIPE, LAYERS)
    assert words(point.recipe, "weight") == [8, 3, 6, 8], "block.threshold has no weight to change"
    assert words(point.recipe, "activation") == words(RECIPE, "activation")


def test_a_pattern_wins_over_the_whole_network_in_any_order():
    for axes in (["weight=5", "weight@head=3"], ["weight@head=3", "weight=5"]):
        _, point = grid(parse_axes(axes), RECIPE, LAYERS)
        assert words(point.recipe, "weight") == [5, 5, 5, 3]


def test_sensitivity_changes_one_layer_at_a_time():
    points = grid(parse_axes(["weight=3,4"]), RECIPE, LAYERS, sensitivity=True)
    found = [(point.layer, words(point.recipe, "weight")) for point in points]
    assert found == [
        ("", [8, 6, 6, 8]),
        ("conv1", [3, 6, 6, 8]),
        ("conv1", [4, 6, 6, 8]),
        ("block.conv", [8, 3, 6, 8]),
        ("block.conv", [8, 4, 6, 8]),
        ("head", [8, 6, 6, 3]),
        ("head", [8, 6, 6, 4]),
    ]


def test_sensitivity_gives_a_layer_only_the_axes_that_it_has_a_word_for():
    points = grid(parse_axes(["threshold=4", "weight@head=2,3"]), RECIPE, LAYERS, sensitivity=True)
    assert [(point.layer, point.values) for point in points] == [
        ("", (None, None)),
        ("block.threshold", (4, None)),
        ("head", (None, 2)),
        ("head", (None, 3)),
    ]
    assert [point.recipe.layer("block.threshold").threshold for point in points] == ["proved", 4, "proved", "proved"]


@pytest.mark.parametrize("path", LAYERS)
@pytest.mark.parametrize(
    "layers",
    [
        {},
        {"head": {"weight": 4}, "*": {"weight": 5, "bias": 16}},
        {"*": {"weight": 5}, "head": {"weight": 8}},
        {"block.conv": {"overflow": "wrap"}, "block": {"overflow": "saturate"}},
    ],
)
def test_one_word_of_one_layer_changes_and_nothing_else(path, layers):
    recipe = Recipe.from_dict({"layers": layers})
    changed = with_words(recipe, [path], "weight", 3)
    for other in LAYERS:
        expected = asdict(recipe.layer(other)) | ({"weight": 3} if other == path else {})
        assert asdict(changed.layer(other)) == expected
    assert (changed.input, changed.output, changed.defaults) == (recipe.input, recipe.output, LayerRecipe())


def test_a_value_that_a_layer_has_already_leaves_the_recipe_as_it_is():
    """So the point has the key of the network's own, and is not computed twice."""
    assert with_words(RECIPE, ["conv1"], "weight", 8) == RECIPE
    assert everywhere(Recipe(), "weight", 8) == Recipe()


def test_a_table_without_keys_stays_because_it_names_a_layer():
    assert with_words(Recipe(layers={"head": {"weight": 4}}), ["head"], "weight", 8).layers == {"head": {}}
    assert everywhere(RECIPE, "weight", 3).layers == {"block": {}, "head": {"activation": 10}, "block.*": {}}


@pytest.mark.parametrize(
    ("axis", "sentence"),
    [
        (
            "weight@haed=4",
            "the pattern `haed` of the axis `weight` matches no layer of the network; did you mean `head`?",
        ),
        (
            "weight@x=4",
            "the pattern `x` of the axis `weight` matches no layer of the network; it has `conv1`, `block.conv`, "
            "`block.threshold`, `head`",
        ),
        ("threshold@head=4", "no layer that `head` matches has a word for the axis `threshold`"),
        ("bias=4", "no layer of the network has a word for the axis `bias`"),
    ],
)
def test_what_matches_nothing(axis, sentence):
    with pytest.raises(SweepError) as refused:
        grid(parse_axes([axis]), RECIPE, LAYERS)
    assert str(refused.value) == sentence
