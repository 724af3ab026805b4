"""Small programs of several nodes, with int32 and int64 parts."""

from __future__ import annotations

import numpy as np

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Program

METADATA = {"source": "a test", "accuracy": "none: ü"}


def transform() -> Program:
    """Return WHT, threshold, inverse WHT and an MF product: all int32."""
    rng = np.random.default_rng(1)
    builder = ProgramBuilder()
    y = builder.input("image", (3, 8), Format(8), Scale.of(-7))
    y = builder.node("wht", [y], {"norm": "shift", "order": "sequency"}, layer="body.wht")
    y = builder.node("requantize", [y], {"shift": (2,), "bits": 8}, layer="body.wht")
    t = builder.constant("threshold", np.arange(8), Format(4, False), builder.tensors[y].scale)
    y = builder.node("soft_threshold", [y, t], {"axis": 2}, layer="body.threshold")
    y = builder.node("wht", [y], {"norm": "shift", "inverse": 1, "order": "sequency"}, layer="body.back")
    y = builder.node("requantize", [y], {"shift": (3,), "bits": 8, "rounding": "half_away"}, layer="body.back")
    w = builder.constant("weight", rng.integers(-7, 8, (8, 4)), Format(4), Scale((-6, -7, -8, -6), 1))
    b = builder.constant("bias", rng.integers(-9, 9, 4), None, Scale((-6, -7, -8, -6), 0))
    y = builder.node("mf_matmul", [y, w, b], layer="head")
    y = builder.node(
        "requantize", [y], {"shift": (2, 2, 3, 2), "axis": 2, "bits": 12}, layer="head", outputs=["logits"]
    )
    return builder.finish([y], METADATA)


def mixed() -> Program:
    """Return a program with two inputs and three outputs that needs both int32 and int64."""
    rng = np.random.default_rng(2)
    builder = ProgramBuilder()
    x = builder.input("x", (2, 4), Format(24), Scale.of(-3))
    wide = builder.input("wide", (2, 4), Format(40), Scale.of(-9))
    w = builder.constant("w", rng.integers(-(2**20), 2**20, (4, 4)), None, Scale.of(-4))
    z = builder.constant("z", rng.integers(-5, 5, (2, 4)), None, Scale.of(-3))
    product = builder.node("mf_matmul", [x, w])
    dense = builder.node("matmul", [x, w])
    far = builder.node("requantize", [dense], {"shift": (33,), "bits": 16})
    total = builder.node("add", [x, wide])
    small = builder.node("requantize", [total], {"shift": (20,), "bits": 20, "overflow": "wrap"})
    moved = builder.node("shift", [x], {"exponents": (0,)})
    near = builder.node("sub", [moved, z])
    return builder.finish([product, far, small, near], METADATA)


def convolution() -> Program:
    """Return an MF convolution, a pool, an ordinary grouped convolution and a flat MF product."""
    rng = np.random.default_rng(3)
    builder = ProgramBuilder()
    y = builder.input("image", (2, 6, 6), Format(6), Scale.of(-5))
    w = builder.constant("w1", rng.integers(-7, 8, (4, 2, 3, 3)), Format(4), Scale.of(-6))
    y = builder.node("mf_conv2d", [y, w], {"pads": (1, 1, 1, 1), "sign_zero": 1}, layer="features.0")
    y = builder.node("relu", [y], layer="features.1")
    y = builder.node(
        "max_pool2d", [y], {"kernel": (2, 2), "strides": (2, 2), "pads": (0, 0, 0, 0), "dilations": (1, 1)}
    )
    y = builder.node("requantize", [y], {"shift": (3,), "bits": 5, "signed": 0})
    w = builder.constant("w2", rng.integers(-7, 8, (6, 2, 2, 2)), Format(4), Scale.of(-2))
    y = builder.node("conv2d", [y, w], {"groups": 2}, layer="features.2")
    y = builder.node("flatten", [y])
    y = builder.node("requantize", [y], {"shift": (4,), "bits": 6})
    w = builder.constant("w3", rng.integers(-7, 8, (24, 3)), Format(4), Scale.of(-3))
    y = builder.node("mf_matmul", [y, w], {"form": "abs"}, layer="head")
    return builder.finish([y])


NETWORKS = {"transform": transform, "mixed": mixed, "convolution": convolution}
