"""shift_matmul: matrix product with power-of-two weights. Definition: mfsim/ops/shift_matmul.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.power_weights import places_and_signs, shift_sums
from mfsim.kernels.products import as_matrices, starts


@kernel
def plain(x, places, signs, bias, y):
    """Take x [M, K], weights transposed [O, K] and y [M, O]."""
    for m in range(y.shape[0]):
        shift_sums(x[m], places, signs, bias, 0, y[m])


def run(inputs, attributes, outputs):
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    plain(x[0], *places_and_signs(w[0]), starts(inputs[2:]), y[0])
