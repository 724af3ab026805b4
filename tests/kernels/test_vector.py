"""The shuffles of `mfsim.kernels.simd.vector`: which bits of an index each moves, and that a full turn restores all."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.vector import gather_masks, interleave_masks, radix
from tests.bits import assert_bit_equal

SHAPES = [(lanes, segment) for segment in (2, 4, 8, 16) for lanes in (segment, 2 * segment, 4 * segment)]


def shuffled(pair, masks):
    """Return what two shuffles with `masks` make of the lists of `pair`."""
    together = pair[0] + pair[1]
    return [[together[lane] for lane in mask] for mask in masks]


@pytest.mark.parametrize(("lanes", "segment"), SHAPES)
@pytest.mark.parametrize("masks", [interleave_masks, gather_masks])
def test_a_shuffle_loses_nothing_and_a_turn_restores_all(masks, lanes, segment):
    first = [list(range(lanes)), list(range(lanes, 2 * lanes))]
    pair = first
    turn = (segment if masks is interleave_masks else lanes // segment).bit_length()
    for step in range(turn):
        pair = shuffled(pair, masks(lanes, segment))
        assert sorted(pair[0] + pair[1]) == list(range(2 * lanes))
        assert (pair == first) == (step == turn - 1)


@pytest.mark.parametrize(("lanes", "segment"), SHAPES)
def test_which_bit_of_the_lane_tells_the_vectors_apart(lanes, segment):
    pair = [list(range(lanes)), list(range(lanes, 2 * lanes))]
    for bit in reversed(range(segment.bit_length() - 1)):
        pair = shuffled(pair, interleave_masks(lanes, segment))
        assert [right - left for left, right in zip(*pair, strict=True)] == [1 << bit] * lanes
    pair = [list(range(lanes)), list(range(lanes, 2 * lanes))]
    for bit in range(segment.bit_length() - 1, lanes.bit_length() - 1):
        pair = shuffled(pair, gather_masks(lanes, segment))
        assert [right - left for left, right in zip(*pair, strict=True)] == [1 << bit] * lanes


@kernel
def four_of_eight(x, y):
    radix(x, 1, 16, y, 0, 8, 8, 4, 0b101, 0b10, 64)


def test_radix_does_the_stages_that_are_asked_for_and_fetches_past_the_end():
    x = np.arange(1, 65, dtype=np.int16) ** 2
    y = np.zeros(32, dtype=np.int16)
    four_of_eight(x, y)
    vectors = np.array([x[1 + 16 * k : 9 + 16 * k] for k in range(4)]).astype(np.int64)
    h = np.array([[1, 1], [1, -1]])
    expected = np.einsum("ap,bq,cr,pvqwr->avbwc", h, h, h, vectors.reshape(2, 2, 2, 2, 2))
    assert_bit_equal(y, expected.reshape(-1).astype(np.int16))
