"""Where float32 is exact: to the last integer that it holds."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.export.exactness import EXACT, float32_exact, largest_sum
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale


def test_the_limit_is_where_float32_skips_an_integer():
    assert int(np.float32(EXACT)) == EXACT
    assert int(np.float32(EXACT + 1)) == EXACT


@pytest.mark.parametrize(("offset", "exact"), [(1, True), (2, False)])
def test_a_sum_of_exactly_two_to_the_24_is_exact_and_one_more_is_not(offset, exact):
    builder = ProgramBuilder()
    x = builder.input("x", (1,), Format(24, False), Scale.of(-3))
    y = builder.node("add", [x, builder.constant("c", np.array([offset]), scale=Scale.of(-3))])
    program = builder.finish([y])
    (node,) = program.nodes
    assert largest_sum(node, program) == 2**24 - 1 + offset
    assert float32_exact(node, program) is exact


def test_an_inner_accumulator_counts_even_where_the_result_is_small():
    builder = ProgramBuilder()
    x = builder.input("x", (4,), Format(16), Scale.of(0))
    w = builder.constant("w", np.array([[2**12], [-(2**12)], [2**12], [-(2**12)]]), Format(14), Scale.of(0))
    product = builder.node("matmul", [x, w])
    y = builder.node("requantize", [product], {"shift": (20,), "bits": 8})
    program = builder.finish([y])
    assert [float32_exact(node, program) for node in program.nodes] == [False, True]
    assert largest_sum(program.nodes[0], program) == 2**29


@pytest.mark.parametrize(("bits", "exact"), [(24, True), (26, False)])
def test_a_body_on_integers_is_exact_where_its_input_is(bits, exact):
    """The sums of a softmax pass 2**24 here; between its input and its output no float is near."""
    builder = ProgramBuilder()
    x = builder.input("x", (4,), Format(bits), Scale.of(-4))
    table = builder.constant("exp_table", np.array([2**30, 2**20, 0]))
    program = builder.finish([builder.node("softmax", [x, table], {"fraction": 8})])
    (node,) = program.nodes
    assert node.words["sum"].hi > 2**24
    assert float32_exact(node, program) is exact
