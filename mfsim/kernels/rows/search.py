"""Count the thresholds that a code reaches, by binary search."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import host_with_bit, less, lookup, select


def search_table(thresholds):
    """Return ascending `thresholds` behind one unused entry, filled up to a power of two with the greatest int64.

    Parameters
    ----------
    thresholds : sequence of int
        Ascending, below 2**63 - 1; may be empty.

    Returns
    -------
    int64 array, shape (2**bits,)
        `bits` is the bit length of the number of thresholds; entry 0 is never read.
    """
    table = np.full(1 << len(thresholds).bit_length(), np.iinfo(np.int64).max)
    table[1 : len(thresholds) + 1] = thresholds
    return table


@kernel
def reached(value, table):
    """Return how many thresholds of `search_table` are at most `value`, for values below the greatest int64.

    One lut, cmp and select for each bit of the number of thresholds: an address is found from its
    highest bit down, and its threshold is the least value that has at least that count.

    Parameters
    ----------
    value : int64
        A code below 2**63 - 1.
    table : int64 array, shape (2**bits,)
        What `search_table` returned.

    Returns
    -------
    int64
        0 to the number of thresholds.
    """
    count = 0
    bit = table.size >> 1
    while bit > 0:
        further = host_with_bit(count, bit)
        count = select(less(value, lookup(table, further)), count, further)
        bit >>= 1
    return count
