"""shift_matmul: matrix product with weights that are powers of two.

    y[..., o] = sum_k x[..., k] * w[k, o] + bias[o],   w[k, o] in {0, +2**j, -2**j}

Weights are a constant [K, O]. The result and the bias lie on the grid scale(x) * scale(w[o]). An output
takes K shifts and K additions with a bias; without, the first of the additions is a negation. Weights,
words and sources: `mfsim/ops/power_weights.py`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Case, Op, activation, constant
from mfsim.ops.power_weights import check_powers, shift_count, shift_inference
from mfsim.ops.products import unpacked


def infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    check_powers("shift_matmul", w)
    return shift_inference(tensors, matrix_sums("shift_matmul", x, w))


def reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + a * b
    return [total]


def count(node, inputs, outputs):
    return shift_count(node, inputs, outputs, inputs[0].shape[-1])


def powers(rng: np.random.Generator, largest: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return random codes that are 0 (one in eight) or a power of two up to 2**largest with a sign."""
    codes = rng.choice([-1, 1], shape) << rng.integers(0, largest, shape, endpoint=True)
    return np.where(rng.random(shape) < 1 / 8, 0, codes)


def cases():
    rng = np.random.default_rng(10)
    x = activation("x", (2,), Format(5), Scale.of(-4))
    weights = constant("w", np.array([[-4, 0, 2], [1, -8, 1]]), Format(4), Scale.of(-2))
    bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), exhaustive=True)
    yield Case("exhaustive-bias", (x, weights, bias), exhaustive=True)
    yield Case("zeros", (x, constant("w", np.zeros((2, 1), dtype=int))), exhaustive=True)
    sided = replace(activation("x", (2,), Format(5)), range=Range((3, -9), (7, -2), 1))
    yield Case("exhaustive-ranges", (sided, weights), exhaustive=True)
    big = constant("w", powers(rng, 6, (9, 5)), Format(8), Scale((-7, -8, -7, -6, -9), 1))
    start = constant("b", rng.integers(-9999, 9999, 5), scale=Scale((-14, -15, -14, -13, -16), 0))
    yield Case("per-channel", (activation("x", (3, 9), Format(8), Scale.of(-7)), big))
    yield Case("per-channel-bias", (activation("x", (9,), Format(8, False), Scale.of(-7)), big, start))
    yield Case("past-2**24", (activation("x", (300,), Format(12)), constant("w", powers(rng, 7, (300, 2)))))
    yield Case("past-2**53", (activation("x", (2,), Format(40)), constant("w", np.array([[2**20], [-(2**19)]]))))
    longest = constant("w", np.array([[16], [0], [0], [-16]]))
    yield Case("word-of-63-bits", (activation("x", (4,), Format(58)), longest))


OP = Op(
    name="shift_matmul",
    summary="matrix product with weights that are powers of two",
    attributes=(),
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"shift", "addsub", "neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
