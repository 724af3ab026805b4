"""`assert_bit_equal`: the only comparison for integer results."""

from __future__ import annotations

import numpy as np


def assert_bit_equal(got: np.ndarray, expected: np.ndarray, what: str = "codes") -> None:
    """Fail unless both arrays have one integer dtype, one shape, and equal codes everywhere."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, not {expected.dtype}"
    assert got.dtype.kind in "iu", f"{what}: {got.dtype} is not an integer type"
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    different = np.argwhere(got != expected)
    if len(different):
        at = tuple(int(i) for i in different[0])
        raise AssertionError(
            f"{what}: {len(different)} of {got.size} codes differ, first at {at}: {got[at]}, not {expected[at]}"
        )
