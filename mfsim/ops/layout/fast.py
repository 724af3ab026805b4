"""Fast kernels of the layout ops."""

from __future__ import annotations

import math

from mfsim.kernels.rows.transpose import prepared as prepare_transpose

# concat, fast kernel: codes of any word, shifted where they lie in the result.

CONCAT_ISAS = ("portable",)


def prepare_concat(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand
        one or more [...], of one shape but for `axis`; shapes are those of one sample.
    outputs : list of one Operand
        y, the inputs along `axis`, with its proved range.
    attributes : mapping
        Complete attributes: `axis`, `shifts`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return run_concat


def run_concat(inputs, attributes, outputs):
    """Put the inputs behind each other; a shift is done in the word of the result, which holds it.

    Parameters
    ----------
    inputs : list of arrays of any integer types
        C-contiguous codes: one or more [batch, ...], of one shape but for `axis`.
    attributes : mapping
        Complete attributes: `axis`, `shifts`.
    outputs : list of one array of any integer type
        Preallocated and filled completely: y, the inputs along `axis`.
    """
    axis, y = attributes["axis"], outputs[0]
    outer, start = math.prod(y.shape[:axis]), 0
    rows = y.reshape(outer, math.prod(y.shape[axis:]))
    for x, places in zip(inputs, attributes["shifts"], strict=True):
        part = rows[:, start : start + math.prod(x.shape[axis:])]
        part[...] = x.reshape(part.shape)
        if places > 0:
            part <<= places
        start += part.shape[1]


TRANSPOSE_ISAS = ("portable",)

__all__ = ["CONCAT_ISAS", "TRANSPOSE_ISAS", "prepare_concat", "prepare_transpose"]
