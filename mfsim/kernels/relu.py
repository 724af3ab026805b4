"""relu: y = max(x, 0). Definition: mfsim/ops/relu.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import less, select


@kernel
def plain(x, y):
    for i in range(x.size):
        y[i] = select(less(0, x[i]), x[i], 0)


def run(inputs, attributes, outputs):
    plain(inputs[0].reshape(-1), outputs[0].reshape(-1))
