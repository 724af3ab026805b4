"""matmul: matrix product with multiplications, the baseline of `mf_matmul`.

    y[..., o] = sum_k x[..., k] * w[k, o] + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). The result and
the bias lie on the grid scale(x) * scale(w[o]). An output takes K multiplications, by
constants or by activations, and K additions with a bias, K - 1 without. `constant` says what constant
weights are: learned, or fixed by the architecture (a cosine transform, say); they are counted so.

Constant weights [K, K] that are 0 above the diagonal are a triangle: output o is a sum over k >= o of K - o
products, and nothing is computed for the entries above. Other zeros among weights are multiplied.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.errors import FormatError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Attribute, Case, Op, activation, constant, size
from mfsim.ops.products import dense_count, dense_inference, unpacked
from mfsim.program import Tensor


def triangle(w: Tensor) -> str:
    """Return lower for constant weights [K, K] that are 0 above the diagonal, K at least 2; else none."""
    if w.codes is None or len(w.shape) != 2 or not w.shape[0] == w.shape[1] > 1:
        return "none"
    return "none" if np.triu(w.codes, 1).any() else "lower"


def derive(tensors, attributes):
    return {"triangle": triangle(tensors[1])}


def infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    if attributes["triangle"] != triangle(w):
        raise FormatError(
            f"`triangle` of op `matmul` must be {triangle(w)} for these weights, not {attributes['triangle']}"
        )
    return dense_inference(x, w, bias, matrix_sums("matmul", x, w))


def reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + a * b
    return [total]


def count(node, inputs, outputs):
    length, total = inputs[0].shape[-1], size(outputs[0].shape)
    terms = total * (length + 1) // 2 if node.attributes["triangle"] == "lower" else total * length
    return dense_count(node, inputs, outputs, terms)


def cases():
    rng = np.random.default_rng(3)
    x = activation("x", (2,), Format(5), Scale.of(-4))
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), exhaustive=True)
    yield Case("exhaustive-bias", (x, weights, bias), exhaustive=True)
    pair = (activation("x", (1, 2), Format(3)), activation("w", (2, 1), Format(3, False), Scale.of(-3)))
    yield Case("exhaustive-dynamic", pair, exhaustive=True)
    inner = replace(pair[1], range=Range((1, 5), (2, 7), 1))
    yield Case("exhaustive-dynamic-ranges", (replace(pair[0], range=Range((-4, 1), (3, 2), 2)), inner), exhaustive=True)
    still = replace(activation("x", (2, 1, 2), Format(2)), range=Range((1, -1), (1, -1), 3))
    other = replace(activation("w", (2, 2, 1), Format(4)), range=Range((-2, 3), (-1, 4), 1))
    yield Case("exhaustive-dynamic-ranges-by-matrix", (still, other), exhaustive=True)
    big = constant("w", rng.integers(-128, 128, (9, 5)), Format(8), Scale((-7, -8, -7, -6, -9), 1))
    start = constant("b", rng.integers(-9999, 9999, 5), scale=Scale((-14, -15, -14, -13, -16), 0))
    yield Case("per-channel", (activation("x", (3, 9), Format(8), Scale.of(-7)), big))
    yield Case("per-channel-bias", (activation("x", (9,), Format(8, False), Scale.of(-7)), big, start))
    below = constant("w", np.array([[3, 0, 0], [-2, 0, 0], [1, -4, 2]]), Format(3), Scale.of(-2))
    yield Case("exhaustive-triangle", (activation("x", (3,), Format(4), Scale.of(-4)), below), exhaustive=True)
    yield Case("triangle-bias", (activation("x", (2, 3), Format(5), Scale.of(-4)), below, bias))
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic)
    outer = replace(activation("w", (4, 2), Format(8)), range=Range((-9, 1), (-2, 100), 2))
    yield Case("dynamic-ranges-by-output", (activation("x", (3, 4), Format(8)), outer))
    yield Case("past-2**24", (activation("x", (300,), Format(12)), constant("w", rng.integers(-127, 128, (300, 2)))))
    yield Case("past-2**53", (activation("x", (2,), Format(40)), constant("w", np.array([[2**20 - 1], [-(2**20)]]))))
    longest = constant("w", np.array([[16], [0], [0], [-16]]))
    yield Case("word-of-63-bits", (activation("x", (4,), Format(58)), longest))
    yield Case("past-2**53-dynamic", (activation("x", (1, 3), Format(30)), activation("w", (3, 1), Format(30))))


OP = Op(
    name="matmul",
    summary="matrix product with multiplications (baseline)",
    attributes=(
        Attribute("constant", "str", "what constant weights are", "learned", ("learned", "fixed")),
        Attribute("triangle", "str", "whether constant weights are a triangle", None, ("none", "lower"), derived=True),
    ),
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"mul", "addsub"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
)
