"""Convolutions as products of 8 bits, on every level: the codes of the plain kernel."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.ir.formats import Format
from mfsim.kernels.gemm import implicit
from mfsim.kernels.rows.epilogue import NOTHING, fitted
from mfsim.simulate import simulate
from mfsim.simulate.dispatch import fast_kernel_of, operand_of, prepared_kernel
from tests.bits import assert_bit_equal
from tests.kernels.prepared import check, program_of
from tests.ops.geometries import geometries

GEOMETRIES = [pytest.param(*rest, id=name) for name, *rest in geometries() if "groups" not in rest[2]]
GROUPED = ((6, 5, 4), (16, 3, 3, 2), {"groups": 2, "pads": (1, 0, 0, 1), "strides": (1, 2)})


def weights(rng, shape):
    w = rng.integers(-128, 128, shape)
    w[rng.random(shape) < 0.2] = 0
    return w


@pytest.mark.parametrize(("x_shape", "w_shape", "attributes"), [*GEOMETRIES, pytest.param(*GROUPED, id="groups")])
def test_conv2d(level, x_shape, w_shape, attributes):
    rng = np.random.default_rng(0)
    for signed, bias in ((True, False), (False, True)):
        x = (x_shape, Format(8, signed), -3)
        check(program_of("conv2d", x, (weights(rng, w_shape), [-7]), attributes, bias, rng), rng)


@pytest.mark.parametrize(("x_shape", "w_shape", "attributes"), [*GEOMETRIES, pytest.param(*GROUPED, id="groups")])
def test_mf_conv2d(level, x_shape, w_shape, attributes):
    rng = np.random.default_rng(1)
    ways = [(form, zero, exponent) for form in ("ef", "abs") for zero in (0, 1) for exponent in (-7, 5)]
    for number, (form, zero, exponent) in enumerate(ways):
        x = (x_shape, Format(8, number % 3 > 0), -4)
        more = attributes | {"form": form, "sign_zero": zero}
        exponents = [exponent] if number % 2 else [exponent - o % 9 for o in range(w_shape[0])]
        check(program_of("mf_conv2d", x, (weights(rng, w_shape), exponents), more, number > 3, rng), rng)


def test_output_lines_in_several_chunks(level, monkeypatch):
    monkeypatch.setattr("mfsim.kernels.gemm.rows.CACHE", 1)
    rng = np.random.default_rng(2)
    x = ((3, 7, 6), Format(8), -4)
    check(program_of("mf_conv2d", x, (weights(rng, (9, 3, 3, 3)), [-7]), {"pads": (1, 1, 1, 1)}), rng, batch=5)


@pytest.mark.parametrize("op", ["conv2d", "mf_conv2d"])
@pytest.mark.parametrize("bits", [8, 9, 30])
def test_small_groups_and_wide_words_go_line_by_line(op, bits):
    rng = np.random.default_rng(3)
    few = implicit.LEAST_OUTPUTS - 1
    x = ((4, 5, 6), Format(bits), -3)
    for form in ("ef", "abs") if op == "mf_conv2d" else ("",):
        more = {"form": form, "sign_zero": 1} if form else {}
        for geometry in ({"pads": (1, 0, 2, 1)}, {"strides": (2, 2)}, {"strides": (1, 3), "dilations": (2, 1)}):
            w = weights(rng, (2 * few, 2, 2, 2))
            exponents = [-4 - o % 3 for o in range(2 * few)]
            program = program_of(op, x, (w, exponents), geometry | more | {"groups": 2}, True, rng)
            assert int8_product_of(op, program) is None
            check(program, rng)


def int8_product_of(op, program):
    """Return the form as an int8 product that is fitted, which the line by line form never is."""
    (node,) = program.nodes
    inputs, outputs = (
        [operand_of(tensor) for tensor in tensors] for tensors in (program.inputs_of(node), program.outputs_of(node))
    )
    return prepared_kernel(op, inputs, outputs, node.attributes, fitted(0, 1, [NOTHING], (0, 1)))


def test_a_bound_form_reads_whatever_its_arrays_hold(level):
    rng = np.random.default_rng(5)
    for op, geometry in (("conv2d", {"pads": (1, 1, 1, 1)}), ("mf_conv2d", {"strides": (2, 1)})):
        program = program_of(op, ((3, 6, 5), Format(8), -4), (weights(rng, (9, 3, 3, 3)), [-7]), geometry)
        (node,) = program.nodes
        (result,) = program.outputs_of(node)
        x, y = np.empty((4, 3, 6, 5), np.int8), np.empty((4, *result.shape[1:]), np.int32)
        call = fast_kernel_of(program, node).bind([x], [y])
        for _ in range(3):
            x[...] = rng.integers(-128, 128, x.shape)
            call()
            assert_bit_equal(y.astype(np.int64), simulate(program, x, kernels="plain").output)
