"""adder_matmul: matrix product with -|x - w|. Definition: mfsim/ops/adder_matmul.py."""

from __future__ import annotations

from mfsim.kernels.aligned import adder_sums, aligned
from mfsim.kernels.jit import kernel
from mfsim.kernels.products import as_matrices, starts


@kernel
def plain(x, w, bias, y):
    """Take x [G, M, K], w transposed [G or 1, O, K] and y [G, M, O]."""
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            adder_sums(x[g, m], w[g % w.shape[0]], bias, 0, y[g, m])


def run(inputs, attributes, outputs):
    constant = inputs[1].ndim == 2
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    w = w << attributes["shift_w"] if constant else aligned(w, attributes["shift_w"])
    plain(aligned(x, attributes["shift_x"]), w, starts(inputs[2:]), y)
