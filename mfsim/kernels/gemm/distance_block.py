"""Sums of -|x - w| and of sign(x w) min(|x|, |w|) in registers: blocks of 4 rows by one vector of columns.

    sign(x w) min(|x|, |w|) = (|x + w| - |x - w|) / 2

so that both are made of absolute differences; the sums of the second come out doubled. Terms are added in their own word
as long as they fit it, then in 32 bits.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import I32, I64, address, broadcast, load, loop, piece, store
from mfsim.kernels.simd.vector import emitted

ROWS, BYTES = 4, 64


def _magnitude(builder, value):
    zero = ir.Constant(value.type, None)
    return builder.select(builder.icmp_signed("<", value, zero), builder.sub(zero, value), value)


@emitted
def block(typing, minimum, like, a, depth, b, start, c, width, size, steps, rest):
    """Fill a block of c with start + the sums of a and b: `steps` times `size` terms, and `rest` more.

    `like` is an array of the word of the terms; `depth` and `width` are the bytes between rows of a and of c.
    `minimum`, a constant, 0 or 1, chooses the term.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    minimum : int, constant
        0 for -abs(x - w), 1 for the doubled minimum.
    like : array
        Its element type is the word of the terms.
    a, depth : int64
        Address of the first row of left operands, and bytes from row to row.
    b : int64
        Address of the panel of right operands.
    start : int64
        Address of one vector of int32 that the sums start with.
    c, width : int64
        Address of the first int32 sum, and bytes from row to row.
    size, steps, rest : int64
        Terms added in their own word at a time, how many times, and terms left over.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """
    doubled = minimum.literal_value

    def generate(context, builder, signature, arguments):
        a, depth, b, start, c, width, size, steps, rest = arguments[2:]
        element = context.get_data_type(like.dtype)
        lanes = BYTES * 8 // element.width
        vector, sums = ir.VectorType(element, lanes), ir.VectorType(I32, lanes)
        zeros, strides = [ir.Constant(vector, None)] * ROWS, [element.width // 8] * ROWS + [BYTES]

        def term(places, totals):
            weights = load(builder, places[ROWS], vector)
            following = []
            for place, total in zip(places[:ROWS], totals, strict=True):
                code = broadcast(builder, load(builder, place, element), lanes)
                if doubled:
                    total = builder.add(total, _magnitude(builder, builder.add(code, weights)))
                following.append(builder.sub(total, _magnitude(builder, builder.sub(code, weights))))
            return following

        def several(count):
            def body(_, carried):
                places, totals = carried[: ROWS + 1], carried[ROWS + 1 :]
                places, found = loop(builder, count, places, strides, zeros, term)
                wide = found if element.width == I32.width else [builder.sext(each, sums) for each in found]
                return [*places, *(builder.add(total, each) for total, each in zip(totals, wide, strict=True))]

            return body

        carried = [builder.add(a, builder.mul(depth, I64(row))) for row in range(ROWS)] + [b]
        carried += [load(builder, start, sums)] * ROWS
        _, carried = loop(builder, steps, [], [], carried, several(size))
        for row, total in enumerate(several(rest)([], carried)[ROWS + 1 :]):
            store(builder, total, builder.add(c, builder.mul(width, I64(row))))
        return context.get_dummy_value()

    return types.void(minimum, like, *[types.int64] * 9), generate


def _rows(minimum):
    @kernel
    def fill_rows(left, stride, panels, start, size, c, count):
        _, depth, lanes = panels.shape
        right, first, sums = address(panels), address(start), address(c)
        panel_bytes, width = depth * BYTES, c.shape[1] * 4
        for i in range(0, count, ROWS):
            for p in range(panels.shape[0]):
                block(
                    minimum, panels, left + i * stride, stride, right + p * panel_bytes, first + 4 * p * lanes,
                    sums + i * width + 4 * p * lanes, width, size, depth // size, depth % size,
                )  # fmt: skip

    return fill_rows


adder_rows, doubled_min_rows = _rows(0), _rows(1)
"""Fill `count` rows, or up to 3 more, of c int32 [rows, columns] from panels [columns / lanes, depth, lanes] and rows.

Row i of the left operands lies at left + i * stride. `start` is added to each column, `size` terms in their own word.
"""


@kernel
def fill_sums(left, stride, panels, start, size, minimum, columns, c, count):
    """Fill `count` rows of c with sums of distances or of minima, and with 0 from column `columns` on.

    Parameters
    ----------
    left, stride : int64
        Address of the first row of left operands, and bytes from row to row.
    panels : integer array, shape (width / lanes, depth, lanes)
        Right operands, of the word of the terms.
    start : int32 array, shape (width,)
        Added to the sums of each column; twice that where `minimum` is 1.
    size : int
        Terms that fit their own word when added, at least 1.
    minimum : int
        0 for -abs(x - w), 1 for sign(x w) min(abs(x), abs(w)).
    columns : int
        Outputs, at most width.
    c : int32 array, shape (rows, width)
        Filled; rows is at least `count` rounded up to 4.
    count : int
        Rows, at least 0.
    """
    if minimum:
        doubled_min_rows(left, stride, panels, start, size, c, count)
    else:
        adder_rows(left, stride, panels, start, size, c, count)
    for i in range(count):
        line = piece(c, i * c.shape[1], columns)
        rest = piece(c, i * c.shape[1] + columns, c.shape[1] - columns)
        if minimum:
            for n in range(line.size):
                line[n] >>= 1
        for n in range(rest.size):
            rest[n] = 0
