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
    """Do it for one of the terms, with 0 from `columns` on; `start` is doubled where it is the minimum."""
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
