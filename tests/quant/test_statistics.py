"""Kept statistics choose what the values themselves would choose, for every word and method."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mfsim.errors import ModelError
from mfsim.quant import Recipe
from mfsim.quant.calibration import Calibration, Subject
from mfsim.quant.scales import Partner, choose_exponent
from mfsim.quant.statistics import Statistics

RANDOM = np.random.default_rng(5)
VALUES = {
    "normal": RANDOM.standard_normal(3000),
    "not negative": np.maximum(RANDOM.standard_normal(3000), 0),
    "small": RANDOM.standard_normal(40) * 2.0**-30,
    "heavy tails": RANDOM.standard_cauchy(2000),
    "codes": RANDOM.integers(-128, 128, 500) * 0.25,
    "one": np.array([0.3]),
    "zeros": np.zeros(7),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("beyond", [1.0, 1.7])
def test_the_choice_is_that_of_the_values(name, beyond):
    values = VALUES[name]
    low, high = float(values.min()), float(values.max()) * beyond
    kept = Statistics.from_dict(json.loads(json.dumps(Statistics.of(values, low, high).to_dict())))
    assert kept.signed == (low < 0)
    for bits in range(2, 33):
        for signed in (False, True) if low >= 0 else (True,):
            lo, hi = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
            for partner in (None, Partner(0.01, 0), Partner(5.0, 0), Partner(5.0, 1)):
                for method in ("mse", "max", "percentile"):
                    wanted = choose_exponent(values, lo, hi, method, kept.largest, partner)
                    assert kept.exponent(bits, signed, method, partner) == wanted, (bits, signed, method, partner)


def test_the_mean_square_is_kept():
    assert Statistics.of(np.array([3.0, -4.0]), -4.0, 3.0).power == 12.5


def calibration():
    seen = Statistics.of(VALUES["normal"], -4.0, 4.0)
    recipe = Recipe.from_dict({"layers": {"z.*": {"weight": 3}, "a": {"activation": 5}}})
    return Calibration(recipe, (Subject("a", "QuantLinear", {"input_quant": seen}),), (seen,), (), True)


def test_a_calibration_comes_back_from_its_text_with_its_patterns_in_order():
    kept = calibration()
    again = Calibration.from_text(kept.to_text())
    assert again.to_text() == kept.to_text()
    assert list(again.recipe.layers) == ["z.*", "a"]
    assert again.needs_entrance is True


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 0}', "cut"])
def test_a_damaged_calibration_is_one_sentence(text):
    text = calibration().to_text()[:-9] if text == "cut" else text
    with pytest.raises(ModelError, match=r"^the calibration is damaged, or not of this version of mfsim: "):
        Calibration.from_text(text)
