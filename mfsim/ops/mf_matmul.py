"""mf_matmul: matrix product with the MF operator in place of the multiplication.

    y[..., o] = sum_k term(x[..., k], w[k, o]) + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Terms, forms
and grids: `mfsim/ops/products.py`. With a bias an output on split grids takes 2K additions, 1
negation and 1 shift; without, 2K - 1, 2 and 1.
"""

from __future__ import annotations

import numpy as np

from mfsim.formats import Format, Scale
from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Case, Op, activation, constant
from mfsim.ops.products import (
    FORMS,
    GRIDS,
    MF_ATTRIBUTES,
    derive,
    mf_count,
    mf_inference,
    mf_terms,
    shift_gains,
    unpacked,
)


def infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    return mf_inference(x, w, bias, attributes, matrix_sums("mf_matmul", x, w))


def reference(inputs, attributes):
    x, w, *bias = inputs
    gains = shift_gains(attributes)
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + mf_terms(a, b, attributes, gains)
    return [total]


def count(node, inputs, outputs):
    return mf_count(node, inputs, outputs, inputs[0].shape[-1], len(outputs[0].shape) - 1)


def cases():
    rng = np.random.default_rng(0)
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    x = activation("x", (2,), Format(4), Scale.of(-4))
    for form in FORMS:
        for zero in (0, 1):
            attributes = {"form": form, "sign_zero": zero}
            yield Case(f"{form}-{zero}", (x, weights), attributes, exhaustive=True)
            bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-4))
            yield Case(f"{form}-{zero}-bias", (x, weights, bias), attributes, exhaustive=True)
            dynamic = (
                activation("x", (1, 1), Format(5), Scale.of(-1)),
                activation("w", (1, 1), Format(5), Scale.of(-3)),
            )
            yield Case(f"{form}-{zero}-dynamic", dynamic, attributes, exhaustive=True)
    for grid in GRIDS:
        big = constant("w", rng.integers(-127, 128, (9, 5)), Format(8), Scale.of(-7 if grid == "shared" else -9))
        yield Case(grid, (activation("x", (3, 9), Format(8), Scale.of(-7)), big), {"grid": grid})
        bias = constant("b", rng.integers(-99, 99, 5), scale=Scale.of(-7 if grid == "shared" else -9))
        yield Case(
            f"{grid}-bias", (activation("x", (9,), Format(8), Scale.of(-7)), big, bias), {"grid": grid, "form": "abs"}
        )
    per_channel = constant("w", rng.integers(-7, 8, (6, 3)), Format(4), Scale((-6, -3, -4), 1))
    bias = constant("b", np.array([9, -9, 1]), scale=Scale((-6, -4, -4), 0))
    yield Case("per-channel", (activation("x", (6,), Format(6, False), Scale.of(-4)), per_channel), {})
    yield Case(
        "per-channel-bias", (activation("x", (6,), Format(6), Scale.of(-4)), per_channel, bias), {"sign_zero": 1}
    )
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic, {"form": "abs"})
    yield Case("dynamic-aligned", dynamic, {"grid": "aligned"})
    wide = constant("w", np.array([[2**40 - 1], [-(2**40)]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (2,), Format(44), Scale.of(12)), wide), {})
    longest = constant("w", np.array([[3], [0], [0], [-2]]))
    yield Case("word-of-63-bits", (activation("x", (4,), Format(61)), longest), {})
    past = constant("w", rng.integers(-127, 128, (300, 2)), Format(8), Scale.of(-12))
    yield Case("past-2**24", (activation("x", (300,), Format(16), Scale.of(-10)), past), {})


OP = Op(
    name="mf_matmul",
    summary="matrix product with the MF operator",
    attributes=MF_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
)
