"""Splits, images and labels."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from mfsim import data
from mfsim.data.dataset import as_images, as_labels, from_arrays, stratified
from mfsim.errors import DataError


def test_digits_are_always_the_same():
    digits = data.load("digits")
    assert (len(digits.train), len(digits.validation), len(digits.test)) == (1257, 180, 360)
    assert (digits.classes, digits.input_shape) == (10, (1, 8, 8))
    assert np.bincount(digits.test.labels).tolist() == [36, 37, 35, 37, 36, 36, 36, 36, 35, 36]
    assert np.bincount(digits.validation.labels).tolist() == [18] * 10
    # Computed once from the split itself: scikit-learn's digits, 360 of 1797 by class.
    assert zlib.crc32((digits.test.images * 16).astype(np.uint8).tobytes()) == 562589163
    whole = np.concatenate([split.images for split in (digits.train, digits.validation, digits.test)])
    assert whole.dtype == np.float32
    assert sorted(set((whole * 16).reshape(-1).tolist())) == list(range(17))


def test_splits_share_no_image():
    digits = data.load("digits")
    keys = [{image.tobytes() for image in s.images} for s in (digits.train, digits.validation, digits.test)]
    assert not keys[0] & keys[1]
    assert not keys[0] & keys[2]
    assert not keys[1] & keys[2]


def test_stratified_keeps_the_proportions():
    labels = np.array([0] * 50 + [1] * 30 + [2] * 20)
    rest, chosen = stratified(labels, 13)
    assert np.bincount(labels[chosen]).tolist() == [6, 4, 3]  # of 6.5, 3.9, 2.6
    assert sorted([*rest, *chosen]) == list(range(100))
    assert np.array_equal(chosen, stratified(labels, 13)[1])
    assert not np.array_equal(chosen, stratified(labels, 13, seed=1)[1])


def test_bytes_are_divided_by_256():
    images = np.array([[[0, 1], [128, 255]]], dtype=np.uint8)
    assert as_images(images, "x").tolist() == [[[[0, 1 / 256], [0.5, 255 / 256]]]]
    assert as_images(images, "x").dtype == np.float32


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5, 6, 7), (5, 1, 6, 7)),
        ((5, 3, 6, 7), (5, 3, 6, 7)),
        ((5, 6, 7, 3), (5, 3, 6, 7)),
        ((5, 3, 7, 3), (5, 3, 7, 3)),
    ],
)
def test_channels_are_found(shape, expected):
    values = np.random.default_rng(0).random(shape)
    images = as_images(values, "x")
    assert images.shape == expected
    assert images.flags.c_contiguous
    if shape[-1] != expected[-1]:
        assert np.array_equal(images[0, 2], values[0, :, :, 2].astype(np.float32))


def test_first_takes_a_part():
    digits = data.load("digits")
    part = digits.test.first(7)
    assert (len(part), part.images.shape) == (7, (7, 1, 8, 8))
    assert len(digits.test.first(10_000)) == 360


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: as_images(np.zeros((4, 4)), "`x`"),
            "`x` must hold images [N, H, W], [N, C, H, W] or [N, H, W, C], not (4, 4)",
        ),
        (
            lambda: as_images(np.zeros((0, 4, 4)), "`x`"),
            "`x` must hold images [N, H, W], [N, C, H, W] or [N, H, W, C], not (0, 1, 4, 4)",
        ),
        (lambda: as_images(np.zeros((1, 4, 4), int), "`x`"), "`x` must hold uint8 or floats in 0..1, not int64"),
        (
            lambda: as_images(np.full((1, 4, 4), 255.0), "`x`"),
            "`x` must be in 0..1, not 255..255; divide by the largest value",
        ),
        (
            lambda: as_images(np.full((1, 4, 4), np.nan), "`x`"),
            "`x` must be in 0..1, not nan..nan; divide by the largest value",
        ),
        (
            lambda: as_labels(np.zeros(3), 3, "`y`"),
            "`y` must hold one integer for each of the 3 images, not float64 (3,)",
        ),
        (
            lambda: as_labels(np.zeros(2, int), 3, "`y`"),
            "`y` must hold one integer for each of the 3 images, not int64 (2,)",
        ),
        (lambda: as_labels(np.array([0, -1]), 2, "`y`"), "`y` must be at least 0, not -1"),
        (lambda: stratified(np.zeros(4, int), 4), "a split must take 1..3 of 4 images, not 4"),
        (
            lambda: from_arrays(
                "x",
                np.zeros((9, 1, 4, 4), np.float32),
                np.arange(9) % 2,
                data.Split(np.zeros((2, 1, 5, 4), np.float32), np.arange(2)),
            ),
            "`x` has test images of shape (1, 5, 4) and training images of (1, 4, 4)",
        ),
        (
            lambda: data.load("digit"),
            "`data` must be digits, fashion-mnist, a folder of pictures, CIFAR-10 batches or IDX files, an .npz file or CIFAR-10's archive, not 'digit'; "
            "did you mean `digits`?",
        ),
    ],
)
def test_refused(call, sentence):
    with pytest.raises(DataError) as error:
        call()
    assert str(error.value) == sentence
