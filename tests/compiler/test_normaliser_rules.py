"""Softmax and tanh-l1 in a file: like ONNX Runtime with and without masks; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.compiler import compile_model
from mfsim.errors import MfsimError
from mfsim.ops.softmax.tables import (
    exp_table,
    log_tables,
    reciprocal_one,
    softmax_shift_thresholds,
    tanh_l1_shift_thresholds,
    tanh_table,
)
from tests.compiler.files import File, assert_like_runtime, images

LENGTH = 5


def integers(file, *arrays):
    return [file.constant(np.array(array), dtype=np.int64) for array in arrays]


def constants(file, op):
    """Return the derived constants of `op` between x_scale and y_scale, for x on 2^-4, 8 bits and F = 8."""
    table, thresholds = exp_table(-4, 8, 12), softmax_shift_thresholds(12, LENGTH)
    logs, tanh = log_tables(-4, LENGTH, 8), tanh_table(-4, 8, 12)
    names = ("thresholds", "lnk_table", "lnm_table", "out_table", "fine")
    return integers(file, *{
        "Softmax": (table,),
        "SoftmaxRecip": (table, reciprocal_one(8, 12)),
        "SoftmaxShift": (table, thresholds),
        "SoftmaxLog": (table, *(getattr(logs, name) for name in names)),
        "TanhL1": (tanh, 3),
        "TanhL1Shift": (tanh, 3, tanh_l1_shift_thresholds(12, LENGTH)),
    }[op])  # fmt: skip


OPS = {
    "Softmax": "softmax",
    "SoftmaxRecip": "softmax_recip",
    "SoftmaxShift": "softmax_shift",
    "SoftmaxLog": "softmax_log",
    "TanhL1": "tanh_l1",
    "TanhL1Shift": "tanh_l1_shift",
}


def node(file, op, x, *mask):
    scales = [file.constant(2.0**e) for e in (-4, -8)]
    return file.mf(f"{'Masked' * len(mask)}{op}", x, scales[0], *constants(file, op), scales[1], *mask)


@pytest.mark.parametrize("op", OPS)
def test_without_a_mask(op):
    file = File(x=(3, LENGTH))
    program = assert_like_runtime(file.model(node(file, op, file.quant("x"))), images((3, LENGTH)))
    assert [n.op for n in program.nodes] == [OPS[op]]
    assert program.outputs_of(program.nodes[0])[0].scale.exponent == -8


MASKS = [[1, 0, 1, 1, 0], [[1, 0, 1, 1, 0]], np.eye(LENGTH).tolist(), [[np.tril(np.ones((5, 5))).tolist()]]]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("mask", MASKS)
def test_a_constant_mask(op, mask):
    file = File(x=(2, LENGTH, LENGTH))
    x = file.quant("x")
    results = [node(file, op, x, file.constant(np.array(mask), dtype=dtype)) for dtype in (np.int64, np.float32)]
    program = assert_like_runtime(file.model(*results), images((2, LENGTH, LENGTH)))
    assert [n.op for n in program.nodes] == [OPS[op]] * 2
    assert all(program.inputs_of(n)[-1].is_constant for n in program.nodes)


@pytest.mark.parametrize("op", OPS)
def test_an_activation_as_mask(op):
    file = File(x=(3, LENGTH), allowed=(1, LENGTH))
    x, codes = file.quant("x"), file.quant("allowed", 0, 2, signed=0)
    mask = file.node("Clip", codes, file.constant(0.0), file.constant(1.0))
    rng = np.random.default_rng(0)
    allowed = rng.integers(0, 2, (17, 1, LENGTH)).astype(np.float32)
    allowed[3] = 0
    assert_like_runtime(file.model(node(file, op, x, mask)), {"x": images((3, LENGTH)), "allowed": allowed})


def refused(build, match, shape=(3, LENGTH)):
    file = File(x=shape)
    with pytest.raises(MfsimError, match=match):
        compile_model(file.model(build(file)))


def test_refusals():
    def scaled(file, x_scale, y_scale):
        x = file.quant("x")
        return file.mf("Softmax", x, file.constant(x_scale), *constants(file, "Softmax"), file.constant(y_scale))

    refused(lambda file: scaled(file, 2.0**-5, 2.0**-8), r": the scale of x must be 2\^-4, not 2\^-5$")
    refused(lambda file: scaled(file, 2.0**-4, 0.3), ": the scale of the result must be a power of two, not 0.3")

    def masked(*values, dtype=np.int64):
        return lambda file: node(file, "Softmax", file.quant("x"), file.constant(np.array(values), dtype=dtype))

    refused(masked(1, 2, 0, 1, 1), ": the mask must hold 0 and 1, not 2$")
    refused(masked(1, 0.5, 0, 1, 1, dtype=np.float32), ": the mask must hold integers, not 0.5$")
    refused(masked(0, 0, 0, 0, 0), ": row 0 of the mask of op `softmax` must allow at least one entry$")
    many = np.ones((2, 1, LENGTH))
    refused(masked(*many), r": the constant mask \(2, 1, 5\) must be the same for every sample of x \(1, 3, 5\)$")
    rows = np.ones((3, LENGTH))
    refused(masked(*rows), r": the constant mask \(3, 5\) must be the same for every sample of x \(1, 5\)$", (LENGTH,))

    def reciprocal(file):
        dividend, (x_scale, y_scale) = integers(file, 3), (file.constant(2.0**e) for e in (-4, -8))
        return file.mf("SoftmaxRecip", file.quant("x"), x_scale, *constants(file, "Softmax"), *dividend, y_scale)

    refused(reciprocal, ": the dividend of the reciprocal must be a power of two, not 3.0$")

    def two_bits(file):
        return node(file, "Softmax", file.quant("x"), file.quant("allowed", 0, 2, signed=0))

    file = File(x=(3, LENGTH), allowed=(1, LENGTH))
    with pytest.raises(MfsimError, match=r": the mask of op `softmax` must hold 0 and 1, not 0\.\.3$"):
        compile_model(file.model(two_bits(file)))
