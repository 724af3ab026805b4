"""mf_mul: element-wise MF product. Definition: mfsim/ops/mf_mul.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.mf import joined, prepared, prepared_constant
from mfsim.kernels.primitives import addsub, negate


@kernel
def plain(x, signs_x, w, signs_w, split, shift_x, shift_w, y):
    """Take x and y [N, S]; w [N, S], or [1, S] for constant weights."""
    for n in range(y.shape[0]):
        m = n % w.shape[0]
        for i in range(y.shape[1]):
            part = negate(x[n, i], signs_w[m, i])
            if split:
                y[n, i] = joined(part, negate(w[m, i], signs_x[n, i]), shift_x, shift_w)
            else:
                y[n, i] = addsub(part, w[m, i], signs_x[n, i])


def run(inputs, attributes, outputs):
    (x, w), y = inputs, outputs[0]
    flat = (y.shape[0], int(np.prod(y.shape[1:], dtype=np.int64)))
    if w.ndim == x.ndim:
        weights = [a.reshape(flat) for a in prepared(w, attributes, "w")]
    else:
        spread = np.array(np.broadcast_to(w, x.shape[1:])).reshape(1, flat[1])
        weights = prepared_constant(spread, attributes)
    operands = [a.reshape(flat) for a in prepared(x, attributes, "x")]
    split = attributes["grid"] == "split"
    plain(*operands, *weights, split, attributes["shift_x"][0], attributes["shift_w"][0], y.reshape(flat))
