"""gram: products of rows with each other, one triangle computed. Definition: mfsim/ops/gram.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, mul


@kernel
def plain(x, y):
    """Take x [G, N, K] and y [G, N, N]."""
    for g in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(i + 1):
                total = mul(x[g, i, 0], x[g, j, 0])
                for k in range(1, x.shape[2]):
                    total = addsub(total, mul(x[g, i, k], x[g, j, k]), 1)
                y[g, i, j] = total
                y[g, j, i] = total


def run(inputs, attributes, outputs):
    (x,) = inputs
    plain(x.reshape(-1, *x.shape[-2:]), outputs[0].reshape(-1, x.shape[-2], x.shape[-2]))
