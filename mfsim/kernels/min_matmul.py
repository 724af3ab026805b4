"""min_matmul: matrix product with sign(x w) min(|x|, |w|). Definition: mfsim/ops/min_matmul.py."""

from __future__ import annotations

from mfsim.kernels.aligned import constant_magnitudes_and_signs, magnitudes_and_signs, min_sums
from mfsim.kernels.jit import kernel
from mfsim.kernels.products import as_matrices, starts


@kernel
def plain(x, signs_x, w, signs_w, bias, y):
    """Take x [G, M, K], w transposed [G or 1, O, K] and y [G, M, O]."""
    sets = w.shape[0]
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            min_sums(x[g, m], signs_x[g, m], w[g % sets], signs_w[g % sets], bias, 0, y[g, m])


def run(inputs, attributes, outputs):
    prepare_w = constant_magnitudes_and_signs if inputs[1].ndim == 2 else magnitudes_and_signs
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    weights = prepare_w(w, attributes["shift_w"])
    plain(*magnitudes_and_signs(x, attributes["shift_x"]), *weights, starts(inputs[2:]), y)
