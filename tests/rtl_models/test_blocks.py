"""Parameters and cycle models against the ops' references; wrong parameters."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import FormatError, UnsupportedOpError
from mfsim.rtl_models import BLOCKS, CycleModel, MfDotParameters, MfTermParameters, WhtParameters, parameters
from mfsim.rtl_models.stimuli import random_vectors
from tests.bits import assert_bit_equal

FORMS = [(form, zero) for form in ("ef", "abs") for zero in (0, 1)]
SOME = [
    *[WhtParameters(n, bits, order) for n in (2, 8, 32) for bits in (1, 9) for order in ("natural", "sequency")],
    *[MfTermParameters(x, w, form, zero) for x, w in ((2, 2), (8, 5), (4, 12)) for form, zero in FORMS],
    *[MfDotParameters(n, 6, 8, form, zero) for n in (2, 3, 5, 8, 13) for form, zero in FORMS],
]


def played(made, inputs, count):
    """Return what the cycle model shows for `inputs`, one vector each cycle in one lane."""
    model, shown = CycleModel(made), []
    for cycle in range(count + made.latency):
        now = {name: codes[[min(cycle, count - 1)]] for name, codes in inputs.items()}
        outputs, valid = model.step(now, np.array([cycle < count]))
        assert valid[0] == (made.latency <= cycle)
        if valid[0]:
            shown.append(outputs["y"][0])
    return np.array(shown)


@pytest.mark.parametrize("made", SOME, ids=lambda made: made.top)
def test_cycle_model_kernel_and_reference_are_equal(made):
    inputs = random_vectors(made, 50, np.random.default_rng(1))
    reference = made.expected(inputs, "reference")["y"]
    assert_bit_equal(made.expected(inputs)["y"], reference)
    assert_bit_equal(played(made, inputs, 50), reference)


@pytest.mark.parametrize("made", SOME, ids=lambda made: made.top)
def test_the_output_word_is_the_smallest(made):
    """The extremes of the operands reach codes that one bit less does not hold."""
    ends = [np.array([port.word.lo, port.word.hi]) for port in made.inputs]
    if isinstance(made, WhtParameters):
        rows = made.expected({"x": np.full((1, made.n), made.inputs[0].word.lo)})["y"]
    else:
        pairs = np.array(np.meshgrid(*ends)).reshape(2, -1, 1)
        rows = made.expected(
            {"x": pairs[0].repeat(made.inputs[0].length, 1), "w": pairs[1].repeat(made.inputs[1].length, 1)}
        )["y"]
    half = made.output.word.hi // 2
    assert rows.max() > half or rows.min() < -half - 1


def test_a_reset_forgets_what_was_under_way():
    made = WhtParameters(8)
    model = CycleModel(made, 2)
    inputs = random_vectors(made, 2, np.random.default_rng(0))
    model.step(inputs, np.array([True, False]))
    model.reset()
    for _ in range(5):
        _, valid = model.step(inputs, np.array([False, False]))
        assert not valid.any()


def test_every_block_is_documented_by_its_file():
    for name, kind in BLOCKS.items():
        text = kind().texts()[f"{name}.sv"]
        header = text.split("\nmodule ")[0]
        for word in ("Words", "Latency", "Model"):
            assert word in header, f"{name}.sv says nothing of {word}"
        assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize(
    ("block", "values", "sentence"),
    [
        ("wth", {}, "a block must be one of mf_term, mf_dot, wht, not 'wth'; did you mean `wht`?"),
        ("wht", {"x_bit": 8}, "block `wht` has no parameter `x_bit`; did you mean `x_bits`?"),
        ("wht", {"n": 12}, "`n` must be a power of two, not 12"),
        ("wht", {"n": 1}, "`n` must be an integer in 2..1024, not 1"),
        ("wht", {"x_bits": "wide"}, "`x_bits` must be an integer in 1..32, not 'wide'"),
        ("wht", {"order": "dyadic"}, "`order` must be one of natural, sequency, not 'dyadic'"),
        ("mf_term", {"x_bits": 1}, "`x_bits` must be an integer in 2..32, not 1"),
        ("mf_term", {"form": "eff"}, "`form` must be one of ef, abs, not 'eff'; did you mean `ef`?"),
        ("mf_dot", {"sign_zero": 2}, "`sign_zero` must be one of 0, 1, not 2"),
        ("mf_dot", {"n": 0}, "`n` must be an integer in 2..1024, not 0"),
    ],
)
def test_wrong_parameters(block, values, sentence):
    with pytest.raises((FormatError, UnsupportedOpError)) as caught:
        parameters(block, values)
    assert str(caught.value) == sentence


def test_parameters_of_another_block():
    with pytest.raises(FormatError, match="the parameters are those of block `mf_term`, not of `wht`"):
        parameters("wht", MfTermParameters())
