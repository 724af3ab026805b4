"""Axes: what can be written, what it means, and what is said of the rest."""

from __future__ import annotations

import pytest

from mfsim.errors import RecipeError, SweepError
from mfsim.quant.recipe import LAYER_KEYS
from mfsim.sweep.axes import Axis, parse_axes, value_text


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("weight=2:8", Axis("weight", (2, 3, 4, 5, 6, 7, 8))),
        ("activation=4,6,8", Axis("activation", (4, 6, 8))),
        ("accumulator=12:24:4", Axis("accumulator", (12, 16, 20, 24))),
        ("accumulator=12:23:4,proved", Axis("accumulator", (12, 16, 20, "proved"))),
        ("weight=8,2:4,3", Axis("weight", (8, 2, 3, 4))),
        (" weight = 4 , 6 ", Axis("weight", (4, 6))),
        ("weight@features.*=32", Axis("weight", (32,), "features.*")),
        ("per_channel=true,false", Axis("per_channel", (True, False))),
        ("overflow=saturate,wrap", Axis("overflow", ("saturate", "wrap"))),
        ("calibration=mse,max", Axis("calibration", ("mse", "max"))),
        ("weight=5:5", Axis("weight", (5,))),
    ],
)
def test_what_can_be_written(text, axis):
    assert Axis.parse(text) == axis
    assert Axis.parse(str(axis)) == axis


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("wieght=2:8", SweepError, "`wieght` is no axis of a sweep; did you mean `weight`?"),
        (
            "x=2:8",
            SweepError,
            f"`x` is no axis of a sweep; the axes are {', '.join(LAYER_KEYS)}",
        ),
        ("weight=8:2", SweepError, "the range `8:2` of the axis `weight` is empty: 8 is greater than 2"),
        ("weight=", SweepError, "the axis `weight` must have at least one value"),
        ("weight=,", SweepError, "the axis `weight` must have at least one value"),
        ("weight=2:8:0", SweepError, "the step of the range `2:8:0` must be at least 1, not 0"),
        ("weight=2:", SweepError, "a range must be first:last or first:last:step, such as 2:8, not '2:'"),
        ("weight=2:4:1:1", SweepError, "a range must be first:last or first:last:step, such as 2:8, not '2:4:1:1'"),
        (
            "weight",
            SweepError,
            "an axis must be KEY=VALUES or KEY@PATTERN=VALUES, such as weight=2:8 or weight@head=4,6, not 'weight'",
        ),
        (
            "weight@=4",
            SweepError,
            "an axis must be KEY=VALUES or KEY@PATTERN=VALUES, such as weight=2:8 or weight@head=4,6, not 'weight@=4'",
        ),
        ("weight=1:4", RecipeError, "`weight` must be in 2..32 bits, not 1"),
        ("weight=4,33", RecipeError, "`weight` must be in 2..32 bits, not 33"),
        ("weight=2:999999999999", RecipeError, "`weight` must be in 2..32 bits, not 999999999999"),
        ("weight=few", RecipeError, "`weight` must be in 2..32 bits, not 'few'"),
        ("accumulator=1", RecipeError, '`accumulator` must be in 2..32 bits or "proved", not 1'),
        (
            "overflow=wrop",
            RecipeError,
            "`overflow` must be one of saturate, wrap, not 'wrop'; did you mean `wrap`?",
        ),
        ("per_channel=1", RecipeError, "`per_channel` must be true or false, not 1"),
    ],
)
def test_what_is_refused(text, error, sentence):
    with pytest.raises(error) as refused:
        Axis.parse(text)
    assert str(refused.value) == sentence
    assert type(refused.value) is error


def test_a_pattern_holds_for_the_axes_without_one():
    assert [axis.name for axis in parse_axes(["weight=4", "activation@head=4"], "conv*")] == [
        "weight@conv*",
        "activation@head",
    ]


def test_one_key_may_have_several_patterns_but_each_name_only_once():
    assert len(parse_axes(["weight@a=4", "weight@b=4", "weight=8"])) == 3
    with pytest.raises(SweepError) as refused:
        parse_axes(["weight@a=4", "weight=5"], "a")
    assert (
        str(refused.value) == "the axis `weight@a` is given twice; give all its values in one, such as weight@a=4,6,8"
    )


def test_a_sweep_without_an_axis():
    with pytest.raises(SweepError) as refused:
        parse_axes([])
    assert str(refused.value) == "a sweep needs at least one axis, such as weight=2:8"


def test_texts_of_values():
    assert [value_text(value) for value in (4, True, "proved", None)] == ["4", "true", "proved", ""]
