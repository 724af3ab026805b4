"""Which products of 8 bits the ops become, on every level: the codes of the plain form, and when there are none."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from mfsim.builder import ProgramBuilder
from mfsim.formats import Format, Scale
from mfsim.kernels import host
from mfsim.kernels.int8_parts import Operand, dense_sums, kind_of, mf_sums
from mfsim.kernels.int8_product import LAYOUTS
from tests.bits import assert_bit_equal

LEVELS = [level for level in LAYOUTS if level in host.available()]


def prepared(program):
    """Return the fast form of the only node, or None."""
    (node,) = program.nodes
    operands, results = (
        [Operand(t.range.low, t.range.high, t.codes) for t in tensors]
        for tensors in (program.inputs_of(node), program.outputs_of(node))
    )
    return importlib.import_module(f"mfsim.kernels.fast_{node.op}").prepare(operands, results, node.attributes)


def program_of(op, x, w, attributes=None, bias=False, rng=None):
    """Return a program of one product: `x` is (shape, format, exponent), `w` (codes, exponents) or like x."""
    builder = ProgramBuilder()
    names = [builder.input("x", x[0], x[1], Scale.of(x[2]))]
    if isinstance(w[1], Format):
        names.append(builder.input("w", w[0], w[1], Scale.of(w[2])))
    else:
        axis = 1 if op.endswith("matmul") else 0
        scale = Scale(tuple(w[1]), axis) if len(w[1]) > 1 else Scale.of(w[1][0])
        names.append(builder.constant("w", w[0], Format(8), scale))
        if bias:
            product = op in ("matmul", "conv2d")
            exponents = [x[2] + e if product else min(x[2], e) for e in w[1]]
            start = Scale(tuple(exponents), 0) if len(w[1]) > 1 else Scale.of(exponents[0])
            names.append(builder.constant("b", rng.integers(-500, 500, w[0].shape[axis]), Format(16), start))
    return builder.finish([builder.node(op, names, attributes or {})])


def check(program, rng, batch=3):
    """Compare the fast form with the plain one on codes that reach the ends of the inputs."""
    (node,) = program.nodes
    inputs = []
    for name in node.inputs:
        tensor = program.tensors[name]
        if tensor.is_constant:
            inputs.append(np.array(tensor.codes))
            continue
        codes = rng.integers(tensor.range.low, tensor.range.high + 1, (batch, *tensor.shape[1:]))
        where = rng.random(codes.shape)
        inputs.append(
            np.select([where < 0.1, where < 0.2, where < 0.3], [tensor.range.low, tensor.range.high, 0], codes)
        )
    (result,) = program.outputs_of(node)
    plain, fast = (np.empty((batch, *result.shape[1:]), np.int64) for _ in range(2))
    importlib.import_module(f"mfsim.kernels.{node.op}").run(inputs, node.attributes, [plain])
    run = prepared(program)
    assert run is not None, "no fast form"
    run(inputs, node.attributes, [fast])
    assert_bit_equal(fast, plain)


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch):
    monkeypatch.setenv(host.VARIABLE, request.param)
    return request.param


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("signed", [True, False])
def test_matmul(level, signed, bias):
    rng = np.random.default_rng(0)
    w = rng.integers(-128, 128, (70, 33))
    check(program_of("matmul", ((5, 70), Format(8, signed), -3), (w, [-7]), bias=bias, rng=rng), rng)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("form", ["ef", "abs"])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("exponents", [[-7], [-4], [-10], [-1], [-13], [-7, -4, -13, -20, -1]], ids=str)
def test_mf_matmul_with_any_shift_between_the_grids(level, exponents, signed, form, zero, bias):
    rng = np.random.default_rng(1)
    w = rng.integers(-128, 128, (70, 5))
    w[rng.random(w.shape) < 0.2] = 0
    attributes = {"form": form, "sign_zero": zero}
    check(program_of("mf_matmul", ((9, 70), Format(8, signed), -4), (w, exponents), attributes, bias, rng), rng)
    if len(exponents) == 1:
        for grid in ("aligned", *["shared"] * (exponents == [-4])):
            program = program_of(
                "mf_matmul", ((70,), Format(8, signed), -4), (w, exponents), attributes | {"grid": grid}
            )
            check(program, rng)


@pytest.mark.parametrize("words", [(True, True), (False, True), (True, False)], ids=str)
def test_two_activations(level, words):
    rng = np.random.default_rng(2)
    x, w = ((2, 7, 20), Format(8, words[0]), -3), ((2, 20, 9), Format(8, words[1]), -5)
    check(program_of("matmul", x, w), rng)
    for form in ("ef", "abs"):
        check(program_of("mf_matmul", x, w, {"form": form}), rng)
        check(program_of("mf_matmul", x, ((2, 20, 9), Format(8, words[1]), -14), {"form": form, "sign_zero": 1}), rng)


def test_words_that_are_too_wide_have_no_fast_form():
    w = np.full((3, 2), 100)
    assert prepared(program_of("matmul", ((3,), Format(9), 0), (w, [0]))) is None
    assert prepared(program_of("matmul", ((1, 3), Format(8), 0), ((3, 2), Format(16), 0))) is None
    assert prepared(program_of("matmul", ((1, 3), Format(8, False), 0), ((3, 2), Format(8, False), 0))) is None
    assert prepared(program_of("mf_matmul", ((3,), Format(9), 0), (w, [0]))) is None
    assert prepared(program_of("mf_matmul", ((1, 3), Format(8), 0), ((3, 2), Format(9), 0))) is None


def test_sums_past_32_bits_have_no_fast_form():
    w, none = np.full((2, 1), 127), np.zeros(1, np.int64)
    assert dense_sums((-128, 127), w, none, (-(2**31), 2**31 - 1)) is not None
    assert dense_sums((-128, 127), w, none, (-(2**31) - 1, 0)) is None
    assert dense_sums((-128, 127), w, none, (0, 2**31)) is None
    attributes = {"form": "ef", "sign_zero": 0, "shift_x": (7,), "shift_w": (0,)}
    split = mf_sums((-128, 127), w, none, (0, 2**31), attributes)
    assert [each.shifts.tolist() for each in split] == [[7], [0]], "two products: each sum alone fits"
    assert mf_sums((-128, 127), w, np.array([2**31 - 600]), (0, 2**31), attributes) is not None
    assert mf_sums((-128, 127), w, np.array([2**31 - 300]), (0, 2**31), attributes) is None


def test_grids_that_join_are_one_product():
    w, none = np.full((2, 1), 63), np.zeros(1, np.int64)
    for shifts, products in (((0, 0), 1), ((6, 0), 1), ((7, 0), 1), ((8, 0), 2), ((0, 1), 1), ((0, 6), 1), ((0, 8), 2)):
        attributes = {"form": "ef", "sign_zero": 0, "shift_x": shifts[:1], "shift_w": shifts[1:]}
        assert len(mf_sums((-128, 127), w, none, (-(2**20), 2**20), attributes)) == products, shifts


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ((-128, 127), (-128, 127), "ss"),
        ((0, 127), (-128, 127), "ss"),
        ((0, 128), (-128, 127), "us"),
        ((0, 255), (-128, 127), "us"),
        ((-1, 128), (-128, 127), None),
        ((0, 256), (0, 1), None),
        ((-128, 127), (0, 255), "su"),
        ((-128, 127), (-1, 128), None),
        ((0, 128), (0, 128), None),
    ],
)
def test_kinds(left, right, kind):
    assert kind_of(left, right) == kind
