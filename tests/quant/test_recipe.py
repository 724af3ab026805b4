"""Recipes: defaults, patterns, TOML, and one sentence for everything that is wrong."""

from __future__ import annotations

import pytest

from mfsim.errors import RecipeError
from mfsim.quant import LayerRecipe, Recipe

TEXT = """
weight = 6
accumulator = 18
overflow = "wrap"
output = 12

[layers."features.*"]
weight = 4
per_channel = true

[layers.head]
weight = 5
"""


def test_defaults_are_the_documented_ones():
    recipe = Recipe.from_dict({})
    assert recipe == Recipe(LayerRecipe(8, 8, 16, 32, "proved", "saturate", "proved", False, "mse"), {}, "auto", 16)


def test_later_patterns_win_and_hold_for_inner_modules():
    recipe = Recipe.from_dict(
        {"layers": {"body": {"weight": 4}, "*.product": {"weight": 6, "bias": 20}, "body.2": {"weight": 3}}}
    )
    assert [recipe.layer(path).weight for path in ("body.1", "body.1.product", "body.2.product", "head")] == [
        4,
        6,
        3,
        8,
    ]
    assert recipe.layer("body.2.product").bias == 20


def test_toml_of_a_recipe_reads_back_as_the_same_recipe(tmp_path):
    recipe = Recipe.from_toml(TEXT)
    assert (recipe.layer("features.0").weight, recipe.layer("head").weight, recipe.output) == (4, 5, 12)
    path = tmp_path / "recipe.toml"
    path.write_text(recipe.to_toml())
    assert Recipe.from_toml(path) == recipe
    awkward = Recipe.from_dict({"layers": {'a"b\\c': {"weight": 4}}})
    assert Recipe.from_toml(awkward.to_toml()) == awkward


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"weight": 1}, "`weight` must be in 2..32 bits, not 1"),
        ({"activation": 40}, "`activation` must be in 2..32 bits, not 40"),
        ({"weight": True}, "`weight` must be in 2..32 bits, not True"),
        ({"bias": 8.0}, "`bias` must be in 2..32 bits, not 8.0"),
        ({"accumulator": "prove"}, "`accumulator` must be in 2..32 bits or \"proved\", not 'prove'"),
        ({"input": 0}, '`input` must be in 2..32 bits or "auto", not 0'),
        ({"overflow": "warp"}, "`overflow` must be one of saturate, wrap, not 'warp'; did you mean `wrap`?"),
        ({"per_channel": 1}, "`per_channel` must be true or false, not 1"),
        ({"wieght": 8}, "`wieght` is no key of a recipe; did you mean `weight`?"),
        (
            {"layers": {"a": {"output": 8}}},
            "`output` of `layers.a` is no key of a recipe; the keys are weight, activation, residual, bias, "
            "accumulator, overflow, threshold, per_channel, calibration",
        ),
        ({"layers": {"a": {"weight": 33}}}, "in `layers.a`: `weight` must be in 2..32 bits, not 33"),
        ({"layers": {"a": 4}}, "`layers.a` must be a table of keys, not 4"),
        ({"layers": [4]}, "`layers` must be a table of patterns, not [4]"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(content, message):
    with pytest.raises(RecipeError) as caught:
        Recipe.from_dict(content)
    assert str(caught.value) == message


def test_a_pattern_that_matches_nothing_names_a_close_layer():
    recipe = Recipe.from_dict({"layers": {"body.product": {"weight": 4}}})
    with pytest.raises(RecipeError) as caught:
        recipe.check(["body.1.product", "head"])
    assert str(caught.value) == "`layers.body.product` matches no layer of the network; did you mean `body.1.product`?"
    recipe = Recipe.from_dict({"layers": {"xyz": {"weight": 4}}})
    with pytest.raises(
        RecipeError, match=r"^`layers.xyz` matches no layer of the network; it has `body`, `body.1`, `head`$"
    ):
        recipe.check(["body.1", "head"])


def test_a_recipe_that_cannot_be_read(tmp_path):
    with pytest.raises(RecipeError, match=r"^the recipe `.*none.toml` cannot be read: .*No such file"):
        Recipe.from_toml(tmp_path / "none.toml")
    with pytest.raises(RecipeError, match=r"^the recipe is no TOML: "):
        Recipe.from_toml("weight = \n")
