"""abs: y = |x|. Definition: mfsim/ops/abs.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute


@kernel
def plain(x, y):
    for i in range(x.size):
        y[i] = absolute(x[i])


def run(inputs, attributes, outputs):
    plain(inputs[0].reshape(-1), outputs[0].reshape(-1))
