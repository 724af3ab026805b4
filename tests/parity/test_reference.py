"""Programs run by the definitions of their ops."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.parity.reference import run_reference
from mfsim.simulate import simulate
from tests.bits import assert_bit_equal


def residual():
    """Return y = relu(H x) + x for four codes, with an output that is also read on the way."""
    builder = ProgramBuilder()
    x = builder.input("x", (4,), Format(8), Scale.of(-3))
    y = builder.node("wht", [x], {}, name="h")
    z = builder.node("relu", [y])
    return builder.finish([builder.node("add", [z, x], name="sum"), y])


def test_values_by_hand():
    found = run_reference(residual(), {"x": np.array([[1, 2, 3, 4], [-128, 0, 0, 0]])})
    assert_bit_equal(found["h"], np.array([[10, -2, -4, 0], [-128] * 4]))
    assert_bit_equal(found["sum"], np.array([[11, 2, 3, 4], [-128, 0, 0, 0]]))


def test_equals_the_simulator():
    program = residual()
    codes = np.random.default_rng(0).integers(-128, 128, (100, 4))
    expected = simulate(program, codes).outputs
    for name, found in run_reference(program, {"x": codes}).items():
        assert_bit_equal(found, expected[name], name)


@pytest.mark.parametrize(
    ("inputs", "given"), [({}, "nothing"), ({"x": np.zeros((2, 5))}, "(2, 5)"), ({"x": np.zeros((0, 4))}, "(0, 4)")]
)
def test_wrong_inputs(inputs, given):
    with pytest.raises(ShapeError) as error:
        run_reference(residual(), inputs)
    assert str(error.value) == f"input `x` must have the shape [N, 4], not {given}"
