"""Products with power-of-two weights as one or two int8 products, on every level: the codes of the plain kernel."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ops.power_of_two.fast import power_sums
from tests.kernels.prepared import check


def powers(rng, shape, most):
    """Return 0 and signed powers of two up to 2**most, both of the largest among them."""
    w = rng.choice([-1, 0, 1], shape) << rng.integers(0, most + 1, shape)
    w.reshape(-1)[:2] = 1 << most, -(1 << most)
    return w


@pytest.mark.parametrize("most", [6, 7, 13])
def test_weights_of_any_size(level, most):
    rng = np.random.default_rng(most)
    for op, x_shape, w_shape in (("shift_matmul", (3, 20), (20, 17)), ("shift_conv2d", (2, 4, 5), (9, 2, 3, 2))):
        builder = ProgramBuilder()
        w = builder.constant("w", powers(rng, w_shape, most), Format(16), Scale())
        program = builder.finish([builder.node(op, [builder.input("x", x_shape, Format(8), Scale.of(-4)), w])])
        check(program, rng)


def test_how_many_products_there_are():
    x, none, y = (-128, 127), np.zeros(1, np.int64), (-(2**30), 2**30)
    for most, products in ((6, 1), (7, 2), (13, 2)):
        assert len(power_sums(x, np.array([[1 << most], [-1]]), none, y, 2)) == products
    assert power_sums(x, np.array([[1 << 14], [-1]]), none, y, 2) is None
    assert power_sums((-256, 0), np.array([[1]]), none, y, 2) is None
    assert power_sums(x, np.array([[1 << 7], [-1]]), np.array([2**31]), y, 2) is None
