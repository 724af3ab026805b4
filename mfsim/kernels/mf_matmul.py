"""mf_matmul: matrix product with the MF operator. Definition: mfsim/ops/mf_matmul.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.mf import joint_sum, prepare, prepare_constant, split_sum


@kernel
def plain(x, signs_x, w, signs_w, bias, has_bias, split, shift_x, shift_w, y):
    """x [G, M, K], w transposed [G or 1, O, K], y [G, M, O]; shifts are per output or single."""
    groups, rows, outputs = y.shape
    for g in range(groups):
        h = g % w.shape[0]
        for m in range(rows):
            for o in range(outputs):
                start = bias[o % bias.size]
                if split:
                    y[g, m, o] = split_sum(
                        x[g, m], signs_x[g, m], w[h, o], signs_w[h, o], start, has_bias,
                        shift_x[o % shift_x.size], shift_w[o % shift_w.size],
                    )
                else:
                    y[g, m, o] = joint_sum(x[g, m], signs_x[g, m], w[h, o], signs_w[h, o], start, has_bias)


def run(inputs, attributes, outputs):
    x, w = inputs[0], inputs[1]
    y = outputs[0]
    zero, magnitude = attributes["sign_zero"], attributes["form"] == "abs"
    aligned = attributes["grid"] == "aligned"
    place_x = attributes["shift_x"][0] if aligned else 0
    place_w = attributes["shift_w"][0] if aligned else 0
    signs_x, values_x = np.empty_like(x), np.empty_like(x)
    prepare(x.reshape(-1), zero, magnitude, place_x, signs_x.reshape(-1), values_x.reshape(-1))
    if w.ndim == 2:
        groups, rows = 1, y.size // y.shape[-1]
        signs_w, values_w = prepare_constant(w, zero, magnitude, place_w)
    else:
        groups, rows = int(np.prod(y.shape[:-2], dtype=np.int64)), y.shape[-2]
        signs_w, values_w = np.empty_like(w), np.empty_like(w)
        prepare(w.reshape(-1), zero, magnitude, place_w, signs_w.reshape(-1), values_w.reshape(-1))
    length, columns = w.shape[-2], w.shape[-1]
    bias = inputs[2] if len(inputs) == 3 else np.zeros(1, dtype=np.int64)
    plain(
        values_x.reshape(groups, rows, length),
        signs_x.reshape(groups, rows, length),
        np.ascontiguousarray(values_w.reshape(-1, length, columns).swapaxes(1, 2)),
        np.ascontiguousarray(signs_w.reshape(-1, length, columns).swapaxes(1, 2)),
        bias,
        len(inputs) == 3,
        attributes["grid"] == "split",
        np.array(attributes["shift_x"], dtype=np.int64),
        np.array(attributes["shift_w"], dtype=np.int64),
        y.reshape(groups, rows, columns),
    )
