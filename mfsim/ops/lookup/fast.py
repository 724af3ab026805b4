"""Fast kernels of the lookups."""

from __future__ import annotations

import numpy as np

from mfsim.kernels import cpu
from mfsim.kernels.jit import kernel
from mfsim.kernels.operands import stored
from mfsim.kernels.rows.packed import CACHED_CODES, pack, packed, unpack
from mfsim.kernels.simd.byte_tables import LOOK_UPS
from mfsim.kernels.simd.wrapping import maximum, minimum, sub, word_of

# table, fast kernel: bytes by a table of all 256; other codes clamped to the ends of the table and looked up.

TABLE_ISAS = tuple(LOOK_UPS)


@kernel
def _look_up(x, y, size, table, first):
    """Fill `size` codes of y, `packed`, with the entries of `table` at those of x, whose entry 0 is that of `first`."""
    word = table.dtype.type
    low, high = word(first), word(first + table.size - 1)
    codes = np.empty(min(CACHED_CODES, size), table.dtype)
    for start in range(0, size, CACHED_CODES):
        part = codes[: min(CACHED_CODES, size - start)]
        unpack(x, start, part)
        for i in range(part.size):
            part[i] = sub(minimum(maximum(part[i], low), high), low)
        for i in range(part.size):
            part[i] = table[np.uint32(part[i])]
        pack(part, y, start)


def prepare_table(inputs, outputs, attributes):
    """Return the `run` of these operands.

    Parameters
    ----------
    inputs : list of Operand
        x [...]; table [entries], a constant; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `first`, `clamp`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    (x, table), first = inputs, attributes["first"]
    last = first + table.codes.size - 1
    entries = table.codes.astype(word_of(x.low, x.high, first, last, table.low, table.high))
    # The codes of bytes 0 .. 255, which are signed unless some code needs all 8 bits.
    held = np.arange(256, dtype=np.uint8).view(np.uint8 if x.high > 127 else np.int8).astype(np.int64)
    by_byte = table.codes[np.clip(held, first, last) - first].astype(np.uint8)

    def run(arrays, attributes, results):
        x, y = arrays[0], results[0]
        if x.itemsize == y.itemsize == 1:
            LOOK_UPS[cpu.best(TABLE_ISAS)](x.reshape(-1).view(np.uint8), y.reshape(-1).view(np.uint8), by_byte)
        else:
            _look_up(packed(x), packed(y), x.size, entries, first)

    return run


# embedding, fast kernel: rows of a table in the word of the result, copied.

EMBEDDING_ISAS = ("portable",)


def prepare_embedding(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand
        x [...], row numbers; rows [entries, ...], a constant; shapes are those of one sample.
    outputs : list of one Operand
        y [..., row], with its proved range.
    attributes : mapping
        Not used: the op has none.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    table = inputs[1].codes.astype(stored(inputs[1].low, inputs[1].high))

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        y[...] = np.take(table, x, axis=0)

    return run
