"""Codes moved without a change: runs copied, planes turned in blocks that fit the registers.

Places count elements of flat arrays; both arrays are of one element type. Vectors have 16 bytes, which every machine has.
"""

from __future__ import annotations

from numba.core import cgutils, types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import generated
from mfsim.kernels.simd.vector import emitted, load, shuffle, store

VECTOR = 16
"""Bytes of a vector."""

LINE = 64
"""Bytes of a cache line: they are written whole, as rows that lie a power of two apart drive each other out."""


@emitted
def move(typing, source, source_at, target, target_at, lanes):
    """Copy `lanes` elements, a constant.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    source : array, flat
        What is read.
    source_at : int
        First element read.
    target : array, flat
        What is written, of the element type of `source`.
    target_at : int
        First element written.
    lanes : int, constant
        Number of elements.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """
    count = lanes.literal_value

    def generate(context, builder, signature, arguments):
        pointers = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 2)]
        store(builder, load(builder, pointers[0], arguments[1], count), pointers[1], arguments[3])
        return context.get_dummy_value()

    return types.void(source, types.intp, target, types.intp, lanes), generate


@generated
def _lanes(typing, array):
    """Return how many elements a vector has, as a constant; `itemsize` of an array is none."""

    def generate(context, builder, signature, arguments):
        return cgutils.intp_t(VECTOR // context.get_abi_sizeof(context.get_data_type(array.dtype)))

    return types.intp(array), generate


@kernel
def copy(source, source_at, target, target_at, size):
    """Copy `size` elements, at least 1, with vectors that overlap at the end.

    Parameters
    ----------
    source : array, flat
        What is read.
    source_at : int
        First element read.
    target : array, flat
        What is written, of the element type of `source`.
    target_at : int
        First element written.
    size : int
        Number of elements, at least 1.
    """
    lanes = _lanes(source)
    if size >= lanes:
        last = size - lanes
        for k in range(0, last, lanes):
            _move(source, source_at + k, target, target_at + k)
        _move(source, source_at + last, target, target_at + last)
    elif size >= 8:
        move(source, source_at, target, target_at, 8)
        move(source, source_at + size - 8, target, target_at + size - 8, 8)
    elif size >= 4:
        move(source, source_at, target, target_at, 4)
        move(source, source_at + size - 4, target, target_at + size - 4, 4)
    else:
        for k in range(size):
            move(source, source_at + k, target, target_at + k, 1)


@generated
def _move(typing, source, source_at, target, target_at):
    """Copy a vector."""

    def generate(context, builder, signature, arguments):
        pointers = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 2)]
        lanes = VECTOR * 8 // pointers[0].type.pointee.width
        store(builder, load(builder, pointers[0], arguments[1], lanes), pointers[1], arguments[3])
        return context.get_dummy_value()

    return types.void(source, types.intp, target, types.intp), generate


@generated
def _block(typing, source, source_at, source_step, target, target_at, target_step):
    """Turn a square block with a vector for each of its rows."""

    def generate(context, builder, signature, arguments):
        pointers = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 3)]
        lanes = VECTOR * 8 // pointers[0].type.pointee.width
        at, vectors = arguments[1], []
        for _ in range(lanes):
            vectors.append(load(builder, pointers[0], at, lanes))
            at = builder.add(at, arguments[2])
        low = [lane for k in range(lanes // 2) for lane in (k, lanes + k)]
        masks = [low, [lane + lanes // 2 for lane in low]]
        half = lanes // 2
        for _ in range(lanes.bit_length() - 1):
            vectors = [shuffle(builder, vectors[k], vectors[k + half], mask) for k in range(half) for mask in masks]
        at = arguments[4]
        for vector in vectors:
            store(builder, vector, pointers[1], at)
            at = builder.add(at, arguments[5])
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, target, types.intp, types.intp), generate


@kernel
def transpose_plane(source, source_at, source_step, target, target_at, target_step, rows, columns):
    """Turn a plane [rows, columns] with rows `source_step` apart into [columns, rows] with rows `target_step` apart.

    Parameters
    ----------
    source : array, flat
        What is read.
    source_at, source_step : int
        First element, and elements from row to row.
    target : array, flat
        What is written, of the element type of `source`.
    target_at, target_step : int
        First element, and elements from row to row.
    rows, columns : int
        Shape of the plane in `source`.
    """
    lanes = _lanes(source)
    line = LINE // VECTOR * lanes
    if rows >= lanes and columns >= lanes:
        for first in range(0, rows, line):
            for j in range(0, columns, lanes):
                # Blocks at the end overlap those before them.
                column = min(j, columns - lanes)
                for i in range(first, min(first + line, rows), lanes):
                    row = min(i, rows - lanes)
                    _block(
                        source, source_at + row * source_step + column, source_step,
                        target, target_at + column * target_step + row, target_step,
                    )  # fmt: skip
    else:
        for i in range(rows):
            for j in range(columns):
                move(source, source_at + i * source_step + j, target, target_at + j * target_step + i, 1)
