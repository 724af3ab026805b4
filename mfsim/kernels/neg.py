"""neg: y = -x. Definition: mfsim/ops/neg.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import negate


@kernel
def plain(x, y):
    for i in range(x.size):
        y[i] = negate(x[i], -1)


def run(inputs, attributes, outputs):
    plain(inputs[0].reshape(-1), outputs[0].reshape(-1))
