"""wht: products with two small matrices of +1 and -1 for each block.

A block of n = left * right codes (rows of a 2-D block one after the other) is transformed as a matrix,
H_left B H_right: the Hadamard matrix in natural order is the Kronecker product of smaller ones. So the
matrices hold about 2n entries instead of n * n, and a code costs left + right products instead of n.
Another order is a Gather along each axis afterwards. These products are the host's; the device and
the counts know butterflies only.
"""

from __future__ import annotations

import math

import numpy as np

from mfsim.export.integer_bodies.body import CODE, INDEX, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target
from mfsim.ops.wht import matrix
from mfsim.program import Node

TEXT = """
  split = Reshape(x, split_shape)
  blocks = Transpose<perm: ints = [0, 1, 3, 2, 4]>(split)
  square = Reshape(blocks, square_shape)
  by_right = MatMul(square, right)
  by_left = MatMul(left, by_right)
  natural = Reshape(by_left, block_shape)
  rows = Gather<axis: int = 3>(natural, row_order)
  columns = Gather<axis: int = 4>(rows, column_order)
  placed = Transpose<perm: ints = [0, 1, 3, 2, 4]>(columns)
  y = Reshape(placed, shape)
"""


def row_order(n: int, order: str) -> list[int]:
    """Return the natural index of each row of an n-point transform: reversed bits, of the Gray code for sequency."""
    if order == "natural" or n == 1:
        return list(range(n))
    q = n.bit_length() - 1
    codes = [k ^ k >> 1 if order == "sequency" else k for k in range(n)]
    return [int(f"{code:0{q}b}"[::-1], 2) for code in codes]


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), block, order = inputs, attributes_of(node)["block"], attributes_of(node)["order"]
    columns = block or x.shape[-1]
    rows = 1 if attributes_of(node)["dims"] == 1 else block or x.shape[-2]
    down, across = math.prod(x.shape[1:-1]) // rows, x.shape[-1] // columns
    n = rows * columns
    right = 1 << (n.bit_length() // 2)
    return {
        "split_shape": [0, down, rows, across, columns],
        "square_shape": [0, down * across, n // right, right],
        "left": matrix(n // right, "natural"),
        "right": matrix(right, "natural"),
        "block_shape": [0, down, across, rows, columns],
        "row_order": np.array(row_order(rows, order)),
        "column_order": np.array(row_order(columns, order)),
        "shape": target(outputs[0].shape),
    }


BODY = IntegerBody(
    text=TEXT,
    extra={
        "split_shape": SHAPE,
        "square_shape": SHAPE,
        "left": CODE,
        "right": CODE,
        "block_shape": SHAPE,
        "row_order": INDEX,
        "column_order": INDEX,
        "shape": SHAPE,
    },
    derived=derived,
)
