"""Plain kernels of the lookups: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import host_index, lookup
from mfsim.kernels.rounding import clamped

# table: look codes up. Definition: mfsim/ops/lookup/table.py.


@kernel
def _plain_table(x, table, first, low, high, y):
    for i in range(x.size):
        code = clamped(x[i], first, first + table.size - 1, low, high)
        y[i] = lookup(table, host_index(code) - first)


def run_table(inputs, attributes, outputs):
    """Fill the output of op `table`: looked-up codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...]; table [entries], a constant.
    attributes : mapping
        Complete attributes: `first`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, table = inputs
    clamp = attributes["clamp"]
    ends = (clamp in ("low", "both"), clamp in ("high", "both"))
    _plain_table(x.reshape(-1), np.array(table), attributes["first"], *ends, outputs[0].reshape(-1))


# embedding: rows of a constant table. Definition: mfsim/ops/lookup/embedding.py.


@kernel
def _plain_embedding(x, rows, y):
    for i in range(x.size):
        row = rows[host_index(x[i])]
        for j in range(row.size):
            y[i, j] = lookup(row, j)


def run_embedding(inputs, attributes, outputs):
    """Fill the output of op `embedding`: rows of the embedding.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...], row numbers; rows [entries, ...], a constant.
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., row].
    """
    x, rows = inputs
    table = np.array(rows).reshape(len(rows), -1)
    _plain_embedding(x.reshape(-1), table, outputs[0].reshape(-1, table.shape[1]))
