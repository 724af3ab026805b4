"""Products of single codes in the word of the result, where they wrap, so that only the result has to fit it."""

from __future__ import annotations

from mfsim.kernels.emit import piece
from mfsim.kernels.jit import kernel
from mfsim.kernels.words import mul


@kernel
def multiply_rows(x, w, y):
    """Fill y [n, size] with x [n, size] times w [m, size], row r with row r % m."""
    word, size = y.dtype.type, y.shape[1]
    for r in range(y.shape[0]):
        left, right = piece(x, r * size, size), piece(w, r % w.shape[0] * size, size)
        target = piece(y, r * size, size)
        for k in range(size):
            target[k] = mul(word(left[k]), word(right[k]))


@kernel
def scale_rows(x, factors, y):
    """Fill y [n, size] with x [n, size], row r times the factor r % their number."""
    word, size = y.dtype.type, y.shape[1]
    for r in range(y.shape[0]):
        source, target, factor = piece(x, r * size, size), piece(y, r * size, size), word(factors[r % factors.size])
        for k in range(size):
            target[k] = mul(word(source[k]), factor)
