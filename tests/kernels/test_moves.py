"""Runs and planes of codes of every width, moved by vectors: the codes of numpy's copies, and nothing beside them."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.kernels.rows.transpose import _merged as merged
from mfsim.kernels.simd.transpose_block import copy, transpose_plane
from tests.bits import assert_bit_equal

WORDS = pytest.mark.parametrize("word", [np.int8, np.int16, np.int32, np.int64])


@WORDS
def test_runs_of_any_length(word):
    source = np.arange(1, 81).astype(word)
    for size in (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 70):
        target = np.zeros(80, word)
        copy(source, 3, target, 5, size)
        expected = np.zeros(80, word)
        expected[5 : 5 + size] = source[3 : 3 + size]
        assert_bit_equal(target, expected, f"{size} codes")


@WORDS
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 40), (40, 3), (16, 16), (17, 18), (33, 70), (70, 33)], ids=str)
def test_planes_of_any_shape(word, shape):
    rows, columns = shape
    source = np.random.default_rng(0).integers(-100, 100, (rows + 1, columns + 2)).astype(word)
    target = np.zeros((columns + 1, rows + 3), word)
    transpose_plane(source, columns + 3, columns + 2, target, rows + 4, rows + 3, rows, columns - 1)
    expected = np.zeros_like(target)
    expected[1:columns, 1 : rows + 1] = source[1:, 1:columns].T
    assert_bit_equal(target, expected)


def test_neighbouring_axes_that_stay_neighbours_are_one():
    assert merged((2, 3, 4), (0, 1, 2)) == ([24], [0])
    assert merged((2, 3, 4), (1, 2, 0)) == ([2, 12], [1, 0])
    assert merged((2, 1, 3, 4), (2, 1, 0, 3)) == ([2, 3, 4], [1, 0, 2])
    assert merged((1, 1), (1, 0)) == ([], [])
