"""Shared by the convolutions: grouped matrix products of the weights with all windows.

Weights [groups, outputs of a group, terms] times windows [batch, groups, terms, positions].
"""

from __future__ import annotations

import math

from mfsim.export.integer_bodies.body import SHAPE, Arrays, target
from mfsim.export.integer_bodies.windows import WINDOW_EXTRA, window_inputs

CONVOLUTION_EXTRA = {
    **WINDOW_EXTRA,
    "columns_shape": SHAPE,
    "weights_shape": SHAPE,
    "channels_shape": SHAPE,
    "shape": SHAPE,
}
"""Shapes of the gathered windows, of the grouped weights, of a value for each channel, of the result."""


def columns_text(planes: str, columns: str) -> str:
    """Return statements that gather the windows of `planes` as `columns`."""
    return f"""
  gathered_{columns} = Gather<axis: int = 2>({planes}, taps)
  {columns} = Reshape(gathered_{columns}, columns_shape)
"""


def convolution_inputs(node, inputs, outputs) -> Arrays:
    """Return the derived inputs of a convolution, those for an absent bias too."""
    x, w, *bias = inputs
    (y,), groups = outputs, node.attributes["groups"]
    terms, positions = math.prod(w.shape[1:]), math.prod(y.shape[2:])
    return {
        "bias": [0],
        **window_inputs(x, y, w.shape[2:], node.attributes, 0),
        "columns_shape": [0, groups, terms, positions],
        "weights_shape": [groups, w.shape[0] // groups, terms],
        "channels_shape": [w.shape[0] if bias else 1, 1, 1],
        "shape": target(y.shape),
    }
