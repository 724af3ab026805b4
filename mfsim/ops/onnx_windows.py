"""Bodies of windows, convolutions and dense products in integer.onnx, shared by several families."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.ir.program import Node, Tensor
from mfsim.ops.integer_body import CODE, INDEX, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target

# Shared by convolutions and pools: all windows of a batch, by one Gather with an index table.
#
# The padded planes [batch, channels, height * width] are gathered with `taps` [kernel area, output
# positions] to [batch, channels, kernel area, output positions]. One body so serves every kernel,
# stride, padding and dilation; it takes kernel area times the memory of its input.

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
    """Return, for planes that are `width` wide, the address of each tap (rows) of each output position (columns).

    Parameters
    ----------
    width : int
        Codes of a row of the padded plane.
    kernel, strides, dilations : sequence of int
        Of rows and columns.
    output : sequence of int
        Rows and columns of the output.

    Returns
    -------
    int array, shape (kernel area, output positions)
        Addresses in a flat plane.
    """
    lines, columns = (
        (np.arange(k) * d)[:, None] + (np.arange(n) * s)[None, :]
        for k, s, d, n in zip(kernel, strides, dilations, output, strict=True)
    )
    addresses = lines[:, None, :, None] * width + columns[None, :, None, :]
    return addresses.reshape(kernel[0] * kernel[1], output[0] * output[1])


def window_inputs(x: Tensor, y: Tensor, kernel: Sequence[int], attributes: Mapping[str, Any], padding: int) -> Arrays:
    """Return the derived inputs for windows of `kernel` over x [1, channels, height, width] that give y.

    Parameters
    ----------
    x, y : Tensor
        Input and output, [batch, channels, height, width].
    kernel : sequence of int
        Rows and columns of the window.
    attributes : mapping
        `strides`, `pads` and perhaps `dilations`.
    padding : int
        Code that stands for padding.

    Returns
    -------
    dict
        Arrays by the names of `WINDOW_EXTRA`.
    """
    top, left, bottom, right = attributes["pads"]
    height, width = x.shape[2] + top + bottom, x.shape[3] + left + right
    return {
        "pads": [0, 0, top, left, 0, 0, bottom, right],
        "padding": padding,
        "planes_shape": [0, x.shape[1], height * width],
        "taps": taps(width, kernel, attributes["strides"], attributes.get("dilations", (1, 1)), y.shape[2:]),
    }


# Shared by the convolutions: grouped matrix products of the weights with all windows.
#
# Weights [groups, outputs of a group, terms] times windows [batch, groups, terms, positions].

CONVOLUTION_EXTRA = {
    **WINDOW_EXTRA,
    "columns_shape": SHAPE,
    "weights_shape": SHAPE,
    "channels_shape": SHAPE,
    "shape": SHAPE,
}
"""Shapes of the gathered windows, of the grouped weights, of a value for each channel, of the result."""


def columns_text(planes: str, columns: str) -> str:
    """Return statements that gather the windows of `planes` as `columns`.

    Parameters
    ----------
    planes, columns : str
        Names of values in the body.

    Returns
    -------
    str
        Statements in the syntax of `onnx.parser`.
    """
    return f"""
  gathered_{columns} = Gather<axis: int = 2>({planes}, taps)
  {columns} = Reshape(gathered_{columns}, columns_shape)
"""


def convolution_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a convolution, those for an absent bias too.

    Parameters
    ----------
    node : Node
        A convolution.
    inputs, outputs : sequence of Tensor
        Its tensors.

    Returns
    -------
    dict
        Arrays by the names of `CONVOLUTION_EXTRA`, and `bias` [1], 0, for a node that has none.
    """
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


# matmul: MatMul and the bias.


def matmul_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a matrix product: a bias of 0 for a node that has none.

    Parameters
    ----------
    node : Node
        A matrix product.
    inputs, outputs : sequence of Tensor
        Its tensors.

    Returns
    -------
    dict
        `bias`.
    """
    return {"bias": [0]}


MATMUL_INTEGER = IntegerBody(
    text="""
  sums = MatMul(x, w)
  y = Add(sums, bias)
""",
    derived=matmul_inputs,
)


# conv2d: one MatMul of the weights with all windows, and the bias.

TEXT = (
    PLANES_TEXT
    + columns_text("planes", "columns")
    + """
  weights = Reshape(w, weights_shape)
  products = MatMul(weights, columns)
  sums = Reshape(products, shape)
  start = Reshape(bias, channels_shape)
  y = Add(sums, start)
"""
)

CONV2D_INTEGER = IntegerBody(text=TEXT, extra=CONVOLUTION_EXTRA, derived=convolution_inputs)
