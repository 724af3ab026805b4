"""Programs of one step, run token by token."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import DataError, ShapeError
from mfsim.simulate import Decoding
from tests.bits import assert_bit_equal
from tests.programs_with_caches import TABLE, remembering


def test_each_sequence_keeps_its_own_rows():
    decoding = Decoding(remembering(), 2)
    tokens = np.array([[0, 2, 1, 2], [1, 1, 0, 0]])
    assert (decoding.tokens, decoding.position) == (4, 0)
    for position in range(4):
        outputs = decoding.step(tokens[:, position])
        assert list(outputs) == ["logits"]
        cache, own = outputs["logits"][:, :3], outputs["logits"][:, 3]
        assert_bit_equal(cache[:, :position], TABLE[tokens[:, :position]][:, :3])
        assert not cache[:, position:].any()
        assert_bit_equal(own, TABLE[tokens[:, position]])
    assert decoding.position == 4


def test_no_more_tokens_than_the_caches_hold():
    decoding = Decoding(remembering())
    for _ in range(4):
        decoding.step(np.array([1]))
    with pytest.raises(ShapeError, match=r"^the caches are full: the program decodes sequences of 4 tokens$"):
        decoding.step(np.array([1]))


def test_tokens_of_a_wrong_kind():
    decoding = Decoding(remembering(), 2)
    with pytest.raises(ShapeError) as error:
        decoding.step(np.array([[1], [2]]))
    assert str(error.value) == "`ids` must have the shape (2,), one token for each sequence, not (2, 1)"
    with pytest.raises(DataError, match=r"^the codes of input `ids` must be in 0..2, of its word u2, and reach 0..3$"):
        decoding.step(np.array([0, 3]))
    assert decoding.position == 0


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (
            lambda: remembering({}),
            "this program has no caches; decoding needs the program of one step (`decoder_step`)",
        ),
        (
            lambda: remembering(extra=True),
            "decoding feeds one input beside the caches and their position, and this program has 2",
        ),
    ],
)
def test_programs_that_cannot_decode(program, sentence):
    with pytest.raises(DataError) as error:
        Decoding(program())
    assert str(error.value) == sentence


def test_no_sequences():
    with pytest.raises(ShapeError, match=r"^`samples` must be at least 1, not 0$"):
        Decoding(remembering(), 0)
