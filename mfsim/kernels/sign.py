"""sign: y = -1, 0 or +1. Definition: mfsim/ops/sign.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import sign


@kernel
def plain(x, zero, y):
    for i in range(x.size):
        y[i] = sign(x[i], zero)


def run(inputs, attributes, outputs):
    plain(inputs[0].reshape(-1), attributes["sign_zero"], outputs[0].reshape(-1))
