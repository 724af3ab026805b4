"""Matrix products of ops, prepared for words of 8 bits: constant weights are packed once."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.gemm import batched
from mfsim.kernels.gemm.operand_transform import VALUE, transform_operand
from mfsim.kernels.gemm.rows import Bindable, RowProducts, address_of, batches, left_operands
from mfsim.kernels.scratch import round_up


def prepared(inputs, y, sums_of, after):
    """Return a `run` for x and w and perhaps a bias, or None if some word is too wide.

    `y` is the range (low, high) of the sums; `sums_of(w [k, n], bias [n], probe, run)` returns one or two `Sums`, or
    None; `probe` has the extreme codes of w, and `run` is that of an `Int8Product`. `after` is the `Epilogue` of the sums, or
    None.

    Parameters
    ----------
    inputs : list of Operand
        x [..., k] of a sample; w, constant [k, n] or activations [..., k, n]; perhaps a constant bias [n].
    y : tuple of int
        Proved range (low, high) of the sums, in codes.
    sums_of : callable
        (w, bias, probe, run) to a list of one or two `Sums`, or None.
    after : Epilogue or None
        What is done to the sums before they are written.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs), a `Bindable` for constant w.
    """
    w = inputs[1].codes
    if w is None:
        return batched.prepared(inputs[0], inputs[1], sums_of, after)
    length, outputs = w.shape
    bias = inputs[2].codes if len(inputs) > 2 else np.zeros(outputs, np.int64)
    sums = sums_of(w, bias, w, length)
    if sums is None:
        return None
    products = RowProducts(sums, after, y, slice(0, outputs), outputs)

    def calls_of(inputs, outputs):
        x, y = inputs[0].reshape(-1, length), outputs[0].reshape(-1, w.shape[1])
        return matrix(products, x, y)

    return Bindable(calls_of, products.events)


def matrix(products, x, y):
    """Return the kernels, with their arguments, that fill y [m, n] from x [m, k], in C order, and return the overflows.

    Parameters
    ----------
    products : RowProducts
        One or two packed products with what is done to their sums.
    x : integer array, shape (m, k)
        Codes of the left operand.
    y : integer array, shape (m, n)
        Preallocated output.

    Returns
    -------
    list of tuple
        (kernel, arguments), to be called in order.
    """
    layout, (m, length), takes = products.layout, x.shape, products.takes
    size = np.dtype(layout.word).itemsize
    # Bytes are read where they lie, but for the last rows if a block or a step would read what is behind them.
    whole = (m + 1 - -(-round_up(length, layout.step) // length)) // layout.rows * layout.rows
    as_it_lies = x.dtype.itemsize == size == 1 and whole > 0
    copied = [
        number for number, what in enumerate(takes) if not (as_it_lies and what[0] == VALUE and not any(what[2:]))
    ]
    calls = []
    for first, end in batches(m, length * size * len(copied), layout.rows):
        count, safe = end - first, 2**62
        addresses = np.zeros((1, len(takes), 1), np.int64)
        if len(copied) < len(takes):
            safe = max(0, min(whole - first, count))
            addresses = np.full((2, len(takes), 1), address_of(x) + first * length)
        for number, what in enumerate(takes):
            begin = 0 if number in copied else safe
            if begin < count:
                operands = left_operands(f"left operands {number}", count - begin, length, layout)
                calls.append((transform_operand, (x[first + begin : end].reshape(-1), operands, *what)))
                addresses[1 if begin else slice(None), number] = address_of(operands) - begin * length * size
        rows = 1, count, 1, 1, count, length * size
        calls.append(products.call(addresses, rows, y[first:end], False, safe))
    return calls
