"""Shared by the convolutions: grouped matrix products of the weights with all windows.

Weights [groups, outputs of a group, terms] times windows [batch, groups, terms, positions].
"""

from __future__ import annotations

import math

from mfsim.export.integer_bodies.body import SHAPE, Arrays, Tensors, attributes_of, target
from mfsim.export.integer_bodies.windows import WINDOW_EXTRA, window_inputs
from mfsim.program import Node

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


def convolution_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a convolution, those for an absent bias too."""
    x, w, *bias = inputs
    (y,), groups = outputs, attributes_of(node)["groups"]
    terms, positions = math.prod(w.shape[1:]), math.prod(y.shape[2:])
    return {
        "bias": [0],
        **window_inputs(x, y, w.shape[2:], attributes_of(node), 0),
        "columns_shape": [0, groups, terms, positions],
        "weights_shape": [groups, w.shape[0] // groups, terms],
        "channels_shape": [w.shape[0] if bias else 1, 1, 1],
        "shape": target(y.shape),
    }
