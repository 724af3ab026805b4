"""mf_matmul: matrix product with the MF operator. Definition: mfsim/ops/mf_matmul.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.mf import as_weights, prepared, prepared_constant, term_sums
from mfsim.kernels.products import as_matrices


@kernel
def plain(x, signs_x, weights, y):
    """Take x [G, M, K] and y [G, M, O]; weights in one set for all G, or in G sets."""
    sets = weights.values.shape[0]
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            term_sums(x[g, m], signs_x[g, m], weights, g % sets, 0, y[g, m])


def run(inputs, attributes, outputs):
    constant = inputs[1].ndim == 2
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    values, signs = prepared_constant(w, attributes) if constant else prepared(w, attributes, "w")
    plain(*prepared(x, attributes, "x"), as_weights(values, signs, inputs[2:], attributes), y)
