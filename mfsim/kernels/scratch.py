"""Memory that kernels reuse: aligned arrays, and buffers by name for each thread."""

from __future__ import annotations

import contextlib
import math
import threading

import numpy as np


def round_up(size, multiple):
    """Return the least multiple of `multiple` that is at least `size`.

    Parameters
    ----------
    size : int
        At least 0.
    multiple : int
        At least 1.

    Returns
    -------
    int
        size to size + multiple - 1.
    """
    return -(-size // multiple) * multiple


def aligned(shape, dtype):
    """Return an array that begins at a multiple of 64 bytes, so that no vector or row of a tile is split.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : numpy type
        Type of its elements.

    Returns
    -------
    array
        C-contiguous, not initialised.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size].view(dtype).reshape(shape)


class Scratch(threading.local):
    """Buffers of one thread, by name: what is large is not allocated for every call."""

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}

    def get(self, name, shape, dtype):
        """Return the buffer `name` of this thread, grown where it is too small.

        Parameters
        ----------
        name : str
            Name of the buffer; two uses of one name share memory.
        shape : tuple of int
            Shape of the array that is returned.
        dtype : numpy type
            Type of its elements.

        Returns
        -------
        array
            C-contiguous, at a multiple of 64 bytes; it holds whatever was left there.
        """
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = aligned((size,), np.uint8)
        return self.buffers[name][:size].view(dtype).reshape(shape)

    @contextlib.contextmanager
    def lent(self, buffers):
        """Use other buffers for a while, which no other thread uses: so threads that come and go need none of their own.

        Parameters
        ----------
        buffers : dict of str to uint8 array
            Buffers by name, filled as `get` is called.

        Yields
        ------
        None
            While the other buffers are in use.
        """
        own, self.buffers = self.buffers, buffers
        try:
            yield
        finally:
            self.buffers = own


scratch = Scratch()
