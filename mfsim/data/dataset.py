"""`Dataset` and `Split`: labelled images as every other room takes them, and how they are split.

Images are float32 [N, C, H, W] in [0, 1]. A byte k becomes k / 256, not k / 255, so that the code of an
8-bit input word on the scale 2**-8 is the byte itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfsim.errors import DataError
from mfsim.keywords import check_constructor


@check_constructor
@dataclass(frozen=True, eq=False)
class Split:
    """Images [N, C, H, W], float32 in [0, 1], and their labels [N], int64."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> Split:
        """Return the first `count` images, or all if there are fewer.

        Parameters
        ----------
        count : int
            Number of images, at least 0.

        Returns
        -------
        Split
            Views of the first images and labels.
        """
        return Split(self.images[:count], self.labels[:count])


@check_constructor
@dataclass(frozen=True, eq=False)
class Dataset:
    """Three splits of labelled images.

    Attributes
    ----------
    name : where they come from.
    train, validation, test : models are selected on `validation`, never on `test`.
    classes : labels are in 0..classes-1.
    input_shape : (C, H, W).
    """

    name: str
    train: Split
    validation: Split
    test: Split
    classes: int
    input_shape: tuple[int, int, int]


def as_images(array: np.ndarray, where: str) -> np.ndarray:
    """Return float32 [N, C, H, W] in [0, 1] from uint8 (divided by 256) or floats in [0, 1].

    `array` is [N, H, W], [N, C, H, W], or [N, H, W, C] with 1, 3 or 4 channels; where both of the
    latter could be meant, the channels are axis 1. `DataError` names `where`.

    Parameters
    ----------
    array : uint8 or float array
        Images; floats in [0, 1].
    where : str
        What holds the array, for messages.

    Returns
    -------
    float32 array, shape (N, C, H, W)
        C-contiguous, in [0, 1].

    Raises
    ------
    DataError
        If the shape, the dtype or a value does not suit.
    """
    if array.ndim == 3:
        array = array[:, None]
    elif array.ndim == 4 and array.shape[3] in (1, 3, 4) and array.shape[1] not in (1, 3, 4):
        array = array.transpose(0, 3, 1, 2)
    if array.ndim != 4 or 0 in array.shape:
        raise DataError(f"{where} must hold images [N, H, W], [N, C, H, W] or [N, H, W, C], not {array.shape}")
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array.astype(np.float32) / 256)
    if array.dtype.kind != "f":
        raise DataError(f"{where} must hold uint8 or floats in 0..1, not {array.dtype}")
    if not (array.min() >= 0 and array.max() <= 1):
        raise DataError(f"{where} must be in 0..1, not {array.min():g}..{array.max():g}; divide by the largest value")
    return np.ascontiguousarray(array.astype(np.float32))


def as_labels(array: np.ndarray, count: int, where: str) -> np.ndarray:
    """Return int64 labels [count], at least 0; `DataError` names `where`.

    Parameters
    ----------
    array : integer array, shape (count,)
        Labels, at least 0.
    count : int
        Number of images.
    where : str
        What holds the array, for messages.

    Returns
    -------
    int64 array, shape (count,)
        Labels.

    Raises
    ------
    DataError
        If the dtype or the shape differs, or a label is below 0.
    """
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise DataError(
            f"{where} must hold one integer for each of the {count} images, not {array.dtype} {array.shape}"
        )
    if array.min() < 0:
        raise DataError(f"{where} must be at least 0, not {array.min()}")
    return array.astype(np.int64)


def stratified(labels: np.ndarray, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted indices (rest, chosen): `count` chosen, each class in its proportion.

    Numpy's legacy generator is used because its stream is frozen: the split is the same for ever.

    Parameters
    ----------
    labels : int array, shape (N,)
        Class of each image.
    count : int
        Number of images to choose, in 1..N - 1.
    seed : int
        Of the choice, in 0..2**32 - 1.

    Returns
    -------
    (int array, int array)
        Indices, N - count and count of them.

    Raises
    ------
    DataError
        If `count` is not in 1..N - 1.
    """
    if not 0 < count < len(labels):
        raise DataError(f"a split must take 1..{len(labels) - 1} of {len(labels)} images, not {count}")
    values, sizes = np.unique(labels, return_counts=True)
    exact = sizes * count / len(labels)
    take = np.floor(exact).astype(int)
    largest = np.argsort(take - exact, kind="stable")[: count - take.sum()]
    take[largest] += 1
    random = np.random.RandomState(seed)
    chosen = [random.permutation(np.flatnonzero(labels == value))[:n] for value, n in zip(values, take, strict=True)]
    picked = np.zeros(len(labels), dtype=bool)
    picked[np.concatenate(chosen)] = True
    return np.flatnonzero(~picked), np.flatnonzero(picked)


def from_arrays(
    name: str,
    images: np.ndarray,
    labels: np.ndarray,
    test: Split | None = None,
    tests: int = 0,
    validation: int = 0,
    validated: Split | None = None,
) -> Dataset:
    """Return a data set whose missing splits are taken, stratified, from `images` and `labels`.

    Without `test`, `tests` images (default a fifth) are split off first; then, without `validated`,
    `validation` images (default a tenth of the rest) for the validation split.

    Parameters
    ----------
    name : str
        Name of the data set.
    images : float32 array, shape (N, C, H, W)
        In [0, 1].
    labels : int64 array, shape (N,)
        Classes, at least 0.
    test, validated : Split or None
        Test and validation split, where they exist.
    tests, validation : int
        Number of images to split off; 0 is the default part.

    Returns
    -------
    Dataset
        All three splits.

    Raises
    ------
    DataError
        If there are too few images, or the test images have another shape.
    """
    if test is None and len(labels) < 3:
        raise DataError(
            f"{len(labels)} images are too few for a training, a validation and a test split; at least 3 are needed"
        )
    if test is None:
        rest, chosen = stratified(labels, tests or max(1, len(labels) // 5))
        test = Split(images[chosen], labels[chosen])
        images, labels = images[rest], labels[rest]
    if validated is None:
        rest, chosen = stratified(labels, validation or max(1, len(labels) // 10), seed=1)
        validated = Split(images[chosen], labels[chosen])
        images, labels = images[rest], labels[rest]
    if test.images.shape[1:] != images.shape[1:]:
        raise DataError(
            f"`{name}` has test images of shape {test.images.shape[1:]} and training images of {images.shape[1:]}"
        )
    classes = int(max(split.max() for split in (labels, validated.labels, test.labels))) + 1
    channels, height, width = (int(n) for n in images.shape[1:])
    return Dataset(name, Split(images, labels), validated, test, classes, (channels, height, width))


def from_split(split: Split) -> Dataset:
    """Return labelled arrays as a data set whose validation split is a tenth of them, stratified, and whose test is empty.

    Parameters
    ----------
    split : Split
        Images [N, ...] of at least two samples, floating-point, of which nothing is asked but that they are finite, or
        uint8, which is divided by 256. Labels [N], integers of at least 0.

    Raises
    ------
    DataError
        If images or labels are of another type or shape, or not finite.
    """
    images, labels = np.asarray(split.images), np.asarray(split.labels)
    if images.ndim < 2 or len(images) < 2 or (images.dtype != np.uint8 and images.dtype.kind != "f"):
        raise DataError(
            f"`images` must be at least 2 samples [N, ...] of floats or uint8, not {images.dtype} {images.shape}"
        )
    if not np.isfinite(images).all():
        raise DataError("`images` hold NaN or infinite values")
    labels = as_labels(labels, len(images), "`labels`")
    images = images.astype(np.float32) / (256 if images.dtype == np.uint8 else 1)
    train, validation = stratified(labels, max(1, len(labels) // 10), seed=1)
    shape = (*images.shape[1:],)
    return Dataset(
        "arrays",
        Split(images[train], labels[train]),
        Split(images[validation], labels[validation]),
        Split(images[:0], labels[:0]),
        int(labels.max()) + 1,
        shape,  # a network of one's own may take something else than planes
    )
