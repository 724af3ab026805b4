"""softmax_log, fast form: terms only for their sum; the place of each result from that of the term."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.packed import CACHED_CODES, pack, packed, unpack
from mfsim.kernels.row_weights import Terms, locate, mask_of
from mfsim.kernels.search import search_table
from mfsim.kernels.softmax_log import logarithm
from mfsim.kernels.words import add, least, sub, up, word_of

FORMS = ("portable",)


@kernel
def weigh(x, y, rows, length, mask, terms, thresholds, lnk, lnm, out, places, fine):
    """Fill `rows` rows of y from those of x, both `packed`; `places` is P - M, `fine` is g.

    `out` starts with the result of what a row does not see.
    """
    word = out.dtype.type
    before, last, end = word(terms.before), word(terms.table.size - 1), word(out.size - 1)
    room = max(CACHED_CODES // length, 1)
    codes = np.empty(room * length, out.dtype)
    at = 0
    for first in range(0, rows, room):
        part = codes[: min(room, rows - first) * length]
        unpack(x, first * length, part)
        at = locate(part, length, mask, at, before, True, last)
        for start in range(0, part.size, length):
            row = part[start : start + length]
            total = np.int64(0)
            for i in range(length):
                total += terms.table[np.uint32(row[i])]
            log = word(1 + logarithm(max(total, terms.least), thresholds, lnk, lnm, places))
            for i in range(length):
                place = least(add(up(sub(last, row[i]), word(fine)), log), end)
                row[i] = place if row[i] else word(0)
        for i in range(part.size):
            part[i] = out[np.uint32(part[i])]
        pack(part, y, first * length)


def prepare(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if x has too many codes."""
    x, table, thresholds, lnk, lnm, out = (operand.codes if k else operand for k, operand in enumerate(inputs[:6]))
    terms = Terms.of_distances(x, table)
    if terms is None:
        return None
    length, fine = x.shape[-1], attributes["fine_bits"]
    places = terms.least.bit_length() - (lnm.size - 1).bit_length()
    place = (terms.table.size << fine) + int(lnk.max()) + int(lnm.max())
    word = word_of(terms.before, x.high, place, int(out.max()))
    mask, search = mask_of(inputs, 6, word), search_table(thresholds)
    lnk, lnm, out = np.array(lnk), np.array(lnm), np.append(0, out).astype(word)

    def run(arrays, attributes, results):
        rows = arrays[0].size // length
        given = (packed(arrays[0]), packed(results[0]), rows, length, mask(arrays), terms, search, lnk, lnm, out)
        weigh(*given, places, fine)

    return run
