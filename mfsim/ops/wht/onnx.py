"""Bodies of the Walsh-Hadamard transform in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

import math

import numpy as np

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, INDEX, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target
from mfsim.ops.onnx_text import choices
from mfsim.ops.wht.wht import matrix

# WHT: Walsh-Hadamard transform of the last axis, or of the last two. Definition: mfsim/ops/wht/wht.py.
#
# H is built from its definition, H[i, j] = (-1)**popcount(i & j); the rows are sorted by their number of
# sign changes for the order `sequency`, and by their reversed bits for `dyadic`. Static shapes let ONNX Runtime fold H to a constant. The
# last axis is one product with H from the right, the axis before it one from the left.


def _matrix(n: str, h: str) -> str:
    """Return the text that makes the float matrix `h` of length `n` (an int64 tensor of one entry)."""
    swaps, reversed_bits = [], f"{h}_u"
    for places, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        name = f"{h}_r{places}"
        swaps.append(
            f"""{name}_by = Constant <value = uint64 {{{places}}}> ()
    {name}_mask = Constant <value = uint64 {{{mask}}}> ()
    {name}_down = BitShift <direction = "RIGHT"> ({reversed_bits}, {name}_by)
    {name}_lower = BitwiseAnd ({name}_down, {name}_mask)
    {name}_rest = BitwiseAnd ({reversed_bits}, {name}_mask)
    {name}_upper = BitShift <direction = "LEFT"> ({name}_rest, {name}_by)
    {name} = BitwiseOr ({name}_lower, {name}_upper)
"""
        )
        reversed_bits = name
    folds, value = [], f"{h}_and"
    for places in (16, 8, 4, 2, 1):
        folds.append(
            f"{h}_by{places} = Constant <value = uint64 {{{places}}}> ()\n"
            f'{h}_s{places} = BitShift <direction = "RIGHT"> ({value}, {h}_by{places})\n'
            f"{h}_x{places} = BitwiseXor ({value}, {h}_s{places})\n"
        )
        value = f"{h}_x{places}"
    return f"""
    {h}_n = Squeeze ({n})
    {h}_i = Range (zero, {h}_n, one)
    {h}_u = Cast <to = 13> ({h}_i)
    {h}_row = Unsqueeze ({h}_u, first)
    {h}_col = Unsqueeze ({h}_u, second)
    {h}_and = BitwiseAnd ({h}_row, {h}_col)
    {"    ".join(folds)}
    {h}_bit = Constant <value = uint64 {{1}}> ()
    {h}_odd = BitwiseAnd ({value}, {h}_bit)
    {h}_odd_int = Cast <to = 7> ({h}_odd)
    {h}_twice = Mul ({h}_odd_int, two)
    {h}_natural = Sub (one, {h}_twice)
    {h}_next = Slice ({h}_natural, first_one, far, second_axis)
    {h}_previous = Slice ({h}_natural, first_zero, last, second_axis)
    {h}_step = Sub ({h}_next, {h}_previous)
    {h}_change = Abs ({h}_step)
    {h}_changes = ReduceSum <keepdims = 0> ({h}_change, second_axis)
    {"    ".join(swaps)}
    {h}_bits = Cast <to = 7> ({reversed_bits})
    {h}_other = Where (is_dyadic, {h}_bits, {h}_i)
    {h}_keys = Where (is_sequency, {h}_changes, {h}_other)
    {h}_all = Reshape ({n}, first_one)
    {h}_sorted, {h}_order = TopK <axis = 0, largest = 0, sorted = 1> ({h}_keys, {h}_all)
    {h}_rows = Gather ({h}_natural, {h}_order)
    {h} = CastLike ({h}_rows, X)
"""


WHT = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
WHT <block, dims, order, norm, inverse> (X) => (Y) {{
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    first = Constant <value_ints = [0]> ()
    second = Constant <value_ints = [1]> ()
    first_zero = Constant <value_ints = [0]> ()
    first_one = Constant <value_ints = [1]> ()
    second_axis = Constant <value_ints = [1]> ()
    last = Constant <value_ints = [-1]> ()
    far = Constant <value_ints = [9223372036854775807]> ()
    {choices("order", ("sequency", "dyadic"), "first")}
    wanted = Constant <value_int: int = @block> ()
    axes = Constant <value_int: int = @dims> ()
    whole = Equal (wanted, zero)
    both = Equal (axes, two)
    shape = Shape (X)
    columns = Shape <start = -1> (X)
    lines = Shape <start = -2, end = -1> (X)
    n = Where (whole, columns, wanted)
    line_block = Where (whole, lines, wanted)
    m = Where (both, line_block, one)
    {_matrix("n", "h")}
    flat_shape = Concat <axis = 0> (last, n)
    flat = Reshape (X, flat_shape)
    turned = Transpose <perm = [1, 0]> (h)
    product = MatMul (flat, turned)
    Z = If (both) <
        then_branch = lines_too () => (planes) {{
            {_matrix("m", "g")}
            plane_shape = Concat <axis = 0> (last, m, columns)
            blocks = Reshape (product, plane_shape)
            planes = MatMul (g, blocks)
        }},
        else_branch = columns_only () => (rows) {{ rows = Identity (product) }}
    >
    sums = Reshape (Z, shape)
    area = Mul (n, m)
    area_real = Cast <to = 11> (area)
    log = Log (area_real)
    two_real = Constant <value = double {{2.0}}> ()
    log_two = Log (two_real)
    digits = Div (log, log_two)
    whole_digits = Round (digits)
    q = Cast <to = 7> (whole_digits)
    backwards = Constant <value_int: int = @inverse> ()
    rounded_up = Add (q, backwards)
    halves = Div (rounded_up, two)
    {choices("norm", ("none",), "first")}
    places = Where (is_none, zero, halves)
    places_u = Cast <to = 13> (places)
    unit = Constant <value = uint64 {{1}}> ()
    divisor_u = BitShift <direction = "LEFT"> (unit, places_u)
    divisor = CastLike (divisor_u, X)
    Y = Div (sums, divisor)
}}
"""

# wht: products with two small matrices of +1 and -1 for each block.
#
# A block of n = left * right codes (rows of a 2-D block one after the other) is transformed as a matrix,
# H_left B H_right: the Hadamard matrix in natural order is the Kronecker product of smaller ones. So the
# matrices hold about 2n entries instead of n * n, and a code costs left + right products instead of n.
# Another order is a Gather along each axis afterwards. These products are the host's; the device and
# the counts know butterflies only.

WHT_TEXT = """
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


def _row_order(n: int, order: str) -> list[int]:
    """Return the natural index of each row of an n-point transform: reversed bits, of the Gray code for sequency."""
    if order == "natural" or n == 1:
        return list(range(n))
    q = n.bit_length() - 1
    codes = [k ^ k >> 1 if order == "sequency" else k for k in range(n)]
    return [int(f"{code:0{q}b}"[::-1], 2) for code in codes]


def _wht_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
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
        "row_order": np.array(_row_order(rows, order)),
        "column_order": np.array(_row_order(columns, order)),
        "shape": target(outputs[0].shape),
    }


WHT_INTEGER = IntegerBody(
    text=WHT_TEXT,
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
    derived=_wht_inputs,
)

MODEL_BODIES = {
    "wht": (WHT,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "wht": WHT_INTEGER,
}
"""By op, its body in integer.onnx."""
