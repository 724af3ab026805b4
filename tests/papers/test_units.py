"""Attention layers counted on the real modules: multiplications of closed forms, additions with reasons."""

from __future__ import annotations

from collections import Counter

import pytest

from examples.papers import closed_forms
from examples.papers.closed_forms import CLASSES, closed_form, differences, per_layer
from examples.papers.units import SETTINGS, UNITS, Unit, counts, uses
from mfsim.errors import CountError

MINI, COMPACT = SETTINGS

# Computed from formulas by other code (2026-11): products by learned constants, activations, fixed constants, additions.
LAYERS = {
    MINI: {
        "qkv": (4_259_840, 1_081_600, 0, 5_349_760),
        "qkk": (3_194_880, 1_081_600, 0, 4_284_800),
        "qk-dctk": (3_194_880, 1_081_600, 266_240, 4_542_720),
        "qk-dctk fast": (3_194_880, 1_081_600, 20_800, 4_339_140),
        "qk-dctk folded": (3_194_880, 1_081_600, 0, 4_284_800),
        "qk-whtk": (3_194_880, 1_081_600, 0, 4_326_400),
        "qk-dftk fast": (3_194_880, 1_089_400, 14_040, 4_331_340),
        "qk-mfqk": (3_194_880, 1_081_600, 0, 4_276_480),
        "qk-sk fast": (3_203_072, 1_081_600, 8_192, 4_391_296),
        "qk-sk fixed-point": (3_203_072, 1_081_600, 8_192, 4_391_296),
        "sq-sk-sk fast": (3_211_264, 1_081_600, 16_384, 4_497_792),
    },
    COMPACT: {
        "qkv": (9_584_640, 1_622_400, 0, 11_207_040),
        "qkk": (7_188_480, 1_622_400, 0, 8_810_880),
        "qk-dctk": (7_188_480, 1_622_400, 798_720, 9_597_120),
        "qk-dctk fast": (7_188_480, 1_622_400, 37_440, 8_910_915),
        "qk-whtk": (7_188_480, 1_622_400, 0, 8_885_760),
        "qk-dftk fast": (7_188_480, 1_634_490, 32_370, 8_898_825),
        "qk-mfqk": (7_188_480, 1_622_400, 0, 8_810_880),
        "q-sk-sk fast": (7_200_768, 1_622_400, 12_288, 8_970_624),
        "sq-sk-k fast": (7_213_056, 1_622_400, 24_576, 9_130_368),
    },
}


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.model)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_multiplications_equal_closed_forms_in_every_part(unit, setting):
    ours, formula = counts(unit, setting), closed_form(unit, setting)
    if (unit.name, setting) == (
        "qk-dftk",
        MINI,
    ):  # the fixed-point op: two real bins for each row of 32, times sqrt(1/2)
        formula["transforms"]["mul fixed"] += 2 * setting.tokens * setting.heads
    for part in formula:
        assert {c: ours[part][c] for c in CLASSES} == {c: formula[part][c] for c in CLASSES}, part


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.model)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_other_difference_has_a_reason(unit, setting):
    weights = setting.tokens**2 * setting.config(unit).heads
    found = differences(unit, setting)
    assert found.pop(("normaliser", "addsub")) == weights
    entries = setting.tokens * setting.width
    expected = {
        "cholesky": {("projections", "addsub"): -entries},
        "qk-mfqk": {("mf value", "neg"): entries, ("mf value", "abs"): 2 * entries, ("normaliser", "neg"): weights},
        "qk-mfqk-ef": {("mf value", "neg"): entries, ("normaliser", "neg"): weights},
    }.get(unit.name, {})
    others = {
        place: n for place, n in found.items() if place not in (("normaliser", "shift"), ("normaliser", "select"))
    }
    if unit.name == "qk-dftk":  # how often the fixed-point op rounds depends on its words
        odd = {("transforms", "mul fixed")} if setting == MINI else set()
        assert set(others) == {("transforms", "addsub"), ("transforms", "shift")} | odd
    elif unit.way == "fixed-point":  # two parts of 32 turned codes in a pair of features, of 64 gained ones, results
        rounded = uses(setting.config(unit)) * setting.width * (2 * 64 + 2 * 64 + 2 * 64 + 2) // 2
        guarded = uses(setting.config(unit)) * setting.width * 64
        assert others == {("transforms", "addsub"): rounded, ("transforms", "shift"): rounded + guarded}
    else:
        assert others == expected


@pytest.mark.parametrize(
    ("setting", "name"), [(setting, name) for setting in SETTINGS for name in LAYERS[setting]], ids=str
)
def test_closed_forms_are_those_of_the_papers(setting, name):
    (unit,) = (unit for unit in UNITS if unit.name == name)
    total = sum(closed_form(unit, setting).values(), Counter())
    assert (*(total[c] for c in CLASSES), total["addsub"]) == LAYERS[setting][name]


def test_units_of_one_head():
    n, d = MINI.tokens, MINI.width
    by_name = {unit.name: per_layer(unit, MINI) for unit in UNITS if unit.paper == "minimum"}
    assert by_name["wqk"]["mul learned"] == 3 * n * d**2
    assert by_name["wqk-novo"]["mul learned"] == n * d**2
    assert by_name["cholesky"]["mul learned"] == 2 * n * d**2 + n * d * (d + 1) // 2
    assert by_name["symmetric"]["mul activation"] == n**2 * d + n * (n + 1) * d // 2


def test_folding_leaves_what_the_plain_unit_costs():
    plain = per_layer(Unit("learned-queries", "qkk"), MINI)
    for unit in UNITS:
        if unit.way == "folded":
            assert per_layer(unit, MINI) == plain, unit.name


def test_a_difference_without_a_reason_is_an_error(monkeypatch):
    monkeypatch.setattr(closed_forms, "WHY", {})
    message = "the count of addsub in the normaliser of `qkk` differs for an unknown reason"
    with pytest.raises(CountError, match=f"^{message}$"):
        differences(Unit("learned-queries", "qkk"), MINI)
