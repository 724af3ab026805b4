"""Codes compared with codes."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import ParityError, ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.parity.compare import codes_of, compare_codes
from tests.bits import assert_bit_equal


@pytest.fixture
def program():
    builder = ProgramBuilder()
    return builder.finish([builder.input("x", (2,), Format(8), Scale.of(-3))])


def test_codes_of_values(program):
    codes = codes_of(program, {"x": np.array([[0.125, -16.0]], dtype=np.float32)})["x"]
    assert_bit_equal(codes, np.array([[1, -128]]))


@pytest.mark.parametrize("value", [0.1, np.nan, np.inf])
def test_a_value_between_codes_is_no_code(program, value):
    with pytest.raises(ParityError) as error:
        codes_of(program, {"x": np.array([[0.125, value]])})
    assert str(error.value) == "output `x` has values that are no multiples of its scale 2^-3"


def test_every_difference_counts():
    pair = compare_codes("a = b", {"x": np.array([[1, 2], [3, 4]])}, {"x": np.array([[1, 3], [3, 5]], dtype=np.int32)})
    assert (pair.name, pair.compared, pair.mismatches, pair.equal) == ("a = b", 4, 2, False)


def test_shapes_must_be_equal():
    with pytest.raises(ShapeError) as error:
        compare_codes("a = b", {"x": np.zeros((2, 2))}, {"x": np.zeros((2, 1))})
    assert str(error.value) == "output `x` of a = b has the shapes (2, 2) and (2, 1)"


def test_nothing_compared_is_not_equal():
    assert not compare_codes("a = b", {}, {}).equal
