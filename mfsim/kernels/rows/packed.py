"""Codes in the words that they are stored in: read, written and multiplied by kernels that compute in one word."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.operands import STORED
from mfsim.kernels.simd.emit import piece
from mfsim.kernels.simd.wrapping import mul

# Codes in the words that they are stored in, read and written by kernels that compute in one word.
#
# A kernel gets the bytes of an array and a number that says what words they are, and unpacks a few rows at a
# time into memory that stays in the cache. So it is compiled for the word that it computes in, and not for each pair of
# words of an input and an output.

CACHED_CODES = 1 << 11
"""About how many codes are unpacked at a time."""

_NUMBERS = {np.dtype(word): number for number, word in enumerate(STORED)}


def packed(array):
    """Return the bytes of a C-contiguous array of one of `STORED`, and the number of that word there.

    Parameters
    ----------
    array : integer array
        C-contiguous, of one of the words `STORED`.

    Returns
    -------
    tuple
        uint8 view, shape (bytes,), and int, the index of its word in `STORED`.
    """
    return array.reshape(-1).view(np.uint8), _NUMBERS[array.dtype]


@kernel
def _copy(source, target):
    for i in range(target.size):
        target[i] = target.dtype.type(source[i])


@kernel
def unpack(source, start, codes):
    """Fill `codes` from `source`, what `packed` returned, from code `start` on.

    Parameters
    ----------
    source : tuple
        What `packed` returned of the array that is read.
    start : int
        Flat place of the first code.
    codes : integer array, shape (n,)
        Filled.
    """
    stored, word = source
    stop = start + codes.size
    if word == 0:
        _copy(stored.view(np.int8)[start:stop], codes)
    elif word == 1:
        _copy(stored[start:stop], codes)
    elif word == 2:
        _copy(stored.view(np.int16)[start:stop], codes)
    elif word == 3:
        _copy(stored.view(np.int32)[start:stop], codes)
    else:
        _copy(stored.view(np.int64)[start:stop], codes)


@kernel
def pack(codes, target, start):
    """Put `codes` into `target` likewise; they fit its word.

    Parameters
    ----------
    codes : integer array, shape (n,)
        Codes that fit the word of `target`; it is not checked.
    target : tuple
        What `packed` returned of the array that is written.
    start : int
        Flat place of the first code.
    """
    stored, word = target
    stop = start + codes.size
    if word == 0:
        _copy(codes, stored.view(np.int8)[start:stop])
    elif word == 1:
        _copy(codes, stored[start:stop])
    elif word == 2:
        _copy(codes, stored.view(np.int16)[start:stop])
    elif word == 3:
        _copy(codes, stored.view(np.int32)[start:stop])
    else:
        _copy(codes, stored.view(np.int64)[start:stop])


# Codes copied into the words that they are stored in, while their extremes are found.


@kernel
def narrow(source, target):
    """Fill flat `target` from flat `source`, of at least one code, and return the least and the greatest code.

    Parameters
    ----------
    source : integer array, shape (n,)
        Codes, n at least 1.
    target : integer array, shape (n or more,)
        Filled in its first n elements; its word holds the codes.

    Returns
    -------
    tuple of int
        (least, greatest).
    """
    lo, hi = source[0], source[0]
    for k in range(source.size):
        code = source[k]
        lo, hi = min(lo, code), max(hi, code)
        target[k] = code
    return lo, hi


# Products of single codes in the word of the result, where they wrap, so that only the result has to fit it.


@kernel
def multiply_rows(x, w, y):
    """Fill y [n, size] with x [n, size] times w [m, size], row r with row r % m.

    Parameters
    ----------
    x : integer array, shape (n, size)
        Codes of the left operand.
    w : integer array, shape (m, size)
        Codes of the right operand, m at least 1.
    y : integer array, shape (n, size)
        Filled; products wrap in its word.
    """
    word, size = y.dtype.type, y.shape[1]
    for r in range(y.shape[0]):
        left, right = piece(x, r * size, size), piece(w, r % w.shape[0] * size, size)
        target = piece(y, r * size, size)
        for k in range(size):
            target[k] = mul(word(left[k]), word(right[k]))


@kernel
def scale_rows(x, factors, y):
    """Fill y [n, size] with x [n, size], row r times the factor r % their number.

    Parameters
    ----------
    x : integer array, shape (n, size)
        Codes.
    factors : integer array, shape (m,)
        Factors, m at least 1.
    y : integer array, shape (n, size)
        Filled; products wrap in its word.
    """
    word, size = y.dtype.type, y.shape[1]
    for r in range(y.shape[0]):
        source, target, factor = piece(x, r * size, size), piece(y, r * size, size), word(factors[r % factors.size])
        for k in range(size):
            target[k] = mul(word(source[k]), factor)
