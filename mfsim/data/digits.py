"""scikit-learn's digits: 1797 images 1x8x8 of handwritten digits, levels k/16 with k in 0..16.

360 test images and 180 validation images, stratified, always the same. They come with the package, so
nothing is downloaded. Source: UCI, Optical Recognition of Handwritten Digits (Alpaydin and Kaynak).
"""

from __future__ import annotations

import numpy as np

from mfsim.data.dataset import Dataset, from_arrays
from mfsim.errors import DataError

TESTS = 360
VALIDATION = 180


def load_digits() -> Dataset:
    """Return the digits; `DataError` if scikit-learn is not installed."""
    try:
        from sklearn import datasets
    except ImportError as error:
        raise DataError("`digits` needs scikit-learn; install it with `pip install scikit-learn`") from error
    bunch = datasets.load_digits()
    images = (bunch.images[:, None] / 16).astype(np.float32)
    return from_arrays("digits", images, bunch.target.astype(np.int64), tests=TESTS, validation=VALIDATION)
