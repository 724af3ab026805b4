"""Memory that kernels reuse: aligned arrays, and buffers by name for each thread."""

from __future__ import annotations

import contextlib
import math
import threading

import numpy as np


def round_up(size, multiple):
    """Return the least multiple of `multiple` that is at least `size`."""
    return -(-size // multiple) * multiple


def aligned(shape, dtype):
    """Return an array that begins at a multiple of 64 bytes, so that no vector or row of a tile is split."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size].view(dtype).reshape(shape)


class Scratch(threading.local):
    """Buffers of one thread, by name: what is large is not allocated for every call."""

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}

    def get(self, name, shape, dtype):
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = aligned((size,), np.uint8)
        return self.buffers[name][:size].view(dtype).reshape(shape)

    @contextlib.contextmanager
    def lent(self, buffers):
        """Use other buffers for a while, which no other thread uses: so threads that come and go need none of their own."""
        own, self.buffers = self.buffers, buffers
        try:
            yield
        finally:
            self.buffers = own


scratch = Scratch()
