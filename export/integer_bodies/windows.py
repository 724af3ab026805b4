"""Shared by convolutions and pools: all windows of a batch, by one Gather with an index table.

The padded planes [batch, channels, height * width] are gathered with `taps` [kernel area, output
positions] to [batch, channels, kernel area, output positions]. One body so serves every kernel,
stride, padding and dilation; it takes kernel area times the memory of its input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.export.integer_bodies.body import CODE, INDEX, SHAPE, Arrays
from mfsim.program import Tensor

WINDOW_EXTRA = {"pads": SHAPE, "padding": CODE, "planes_shape": SHAPE, "taps": INDEX}
"""Pads as ONNX has them, the code that is padded with, and what this module's header names."""

PLANES_TEXT = """
  padded = Pad(x, pads, padding)
  planes = Reshape(padded, planes_shape)
"""
"""From `x` [batch, channels, height, width] to `planes`."""


def taps(
    width: int, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], output: Sequence[int]
) -> np.ndarray:
    """Return, for planes that are `width` wide, the address of each tap (rows) of each output position (columns)."""
    lines, columns = (
        (np.arange(k) * d)[:, None] + (np.arange(n) * s)[None, :]
        for k, s, d, n in zip(kernel, strides, dilations, output, strict=True)
    )
    addresses = lines[:, None, :, None] * width + columns[None, :, None, :]
    return addresses.reshape(kernel[0] * kernel[1], output[0] * output[1])


def window_inputs(x: Tensor, y: Tensor, kernel: Sequence[int], attributes: Mapping[str, Any], padding: int) -> Arrays:
    """Return the derived inputs for windows of `kernel` over x [1, channels, height, width] that give y."""
    top, left, bottom, right = attributes["pads"]
    height, width = x.shape[2] + top + bottom, x.shape[3] + left + right
    return {
        "pads": [0, 0, top, left, 0, 0, bottom, right],
        "padding": padding,
        "planes_shape": [0, x.shape[1], height * width],
        "taps": taps(width, kernel, attributes["strides"], attributes.get("dilations", (1, 1)), y.shape[2:]),
    }
