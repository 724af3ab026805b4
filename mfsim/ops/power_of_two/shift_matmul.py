"""shift_matmul: matrix product with weights that are powers of two.

    y[..., o] = sum_k x[..., k] * w[k, o] + bias[o],   w[k, o] in {0, +2**j, -2**j}

Weights are a constant [K, O]. The result and the bias lie on the grid scale(x) * scale(w[o]). An output
takes K shifts and K additions with a bias; without, the first of the additions is a negation. Weights,
words and sources: `mfsim/ops/power_of_two/definition.py`.
"""

from __future__ import annotations

import numpy as np

from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Op, size
from mfsim.ops.power_of_two.definition import SHIFT_HELD, check_powers, shift_count, shift_inference
from mfsim.ops.products import unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X


def _infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    check_powers("shift_matmul", w)
    return shift_inference(tensors, matrix_sums("shift_matmul", x, w))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + a * b
    return [total]


def _count(node, inputs, outputs):
    total = size(outputs[0].shape)
    return shift_count(node, inputs, total * inputs[0].shape[-1], total)


def powers(rng: np.random.Generator, largest: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return random codes that are 0 (one in eight) or a power of two up to 2**largest with a sign.

    Parameters
    ----------
    rng : Generator
        Source of the codes.
    largest : int
        Greatest exponent, 0..62.
    shape : tuple of int
        Of the result.

    Returns
    -------
    int64 array
        Codes in -2**largest..2**largest.
    """
    codes = rng.choice([-1, 1], shape) << rng.integers(0, largest, shape, endpoint=True)
    return np.where(rng.random(shape) < 1 / 8, 0, codes)


OP = Op(
    name="shift_matmul",
    summary="matrix product with weights that are powers of two",
    attributes=(),
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.FUSES_EPILOGUE, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("ShiftMatMul", (X, W)),
    primitives=frozenset({"shift", "addsub", "neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    held=SHIFT_HELD,
)
