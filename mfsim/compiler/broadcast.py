"""Constants that broadcast against an activation: along one axis, or as they are."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError


def along_axis(values: np.ndarray, shape: tuple[int, ...], what: str) -> tuple[np.ndarray, int]:
    """Return constant `values` as a vector and the axis of `shape` that it runs along, -1 for one value.

    Raises
    ------
    ShapeError
        If the values do not broadcast against `shape`, or differ along the batch or two axes.
    """
    without_batch(values, shape, what)
    axes = [axis - values.ndim + len(shape) for axis, size in enumerate(values.shape) if size > 1]
    if len(axes) > 1:
        raise ShapeError(
            f"{what} must be one number, or one for each index of one axis, not of the shape {values.shape}"
        )
    return values.reshape(-1), axes[0] if axes else -1


def without_batch(values: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return constant `values` without batch axis; they must broadcast against `shape` and leave it as it is."""
    padded = (1,) * (len(shape) - values.ndim) + values.shape
    fits = len(padded) == len(shape) and padded[0] == 1
    if not fits or any(n not in (1, m) for n, m in zip(padded[1:], shape[1:], strict=True)):
        raise ShapeError(
            f"{what} of the shape {values.shape} does not broadcast against {('batch', *shape[1:])}".replace("'", "")
        )
    return values.reshape(values.shape[1:]) if values.ndim == len(shape) else values
