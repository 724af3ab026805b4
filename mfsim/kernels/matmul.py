"""matmul: dense matrix product. Definition: mfsim/ops/matmul.py."""

from __future__ import annotations

from mfsim.kernels.dense import product_sums
from mfsim.kernels.jit import kernel
from mfsim.kernels.products import as_matrices, starts


@kernel
def plain(x, w, bias, y):
    """Take x [G, M, K], w transposed [G or 1, O, K] and y [G, M, O]."""
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            product_sums(x[g, m], w[g % w.shape[0]], bias, 0, y[g, m])


@kernel
def lower(x, w, bias, y):
    """Take operands as `plain` does, w [1, O, O] with zeros in front of its diagonal, where nothing is computed."""
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            for o in range(y.shape[2]):
                product_sums(x[g, m, o:], w[0, o : o + 1, o:], bias[o : o + 1], 0, y[g, m, o : o + 1])


def run(inputs, attributes, outputs):
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    sums = lower if attributes["triangle"] == "lower" else plain
    sums(x, w, starts(inputs[2:]), y)
