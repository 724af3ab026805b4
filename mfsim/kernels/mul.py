"""mul: element-wise product. Definition: mfsim/ops/mul.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import mul


@kernel
def plain(x, w, y):
    """Take x and y [N, S]; w [N, S], or [1, S] for a constant."""
    for n in range(y.shape[0]):
        m = n % w.shape[0]
        for i in range(y.shape[1]):
            y[n, i] = mul(x[n, i], w[m, i])


def run(inputs, attributes, outputs):
    (x, w), y = inputs, outputs[0]
    flat = (y.shape[0], int(np.prod(y.shape[1:], dtype=np.int64)))
    if w.ndim == x.ndim:
        spread = w.reshape(flat)
    else:
        spread = np.array(np.broadcast_to(w, x.shape[1:])).reshape(1, flat[1])
    plain(x.reshape(flat), spread, y.reshape(flat))
