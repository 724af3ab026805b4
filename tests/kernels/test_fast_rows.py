"""Row functions on codes that lie far from 0, next to the ends of 32 bits, and on words too long for their fast kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.norm.tables import shift_thresholds as norm_thresholds
from mfsim.ops.op import activation, constant
from mfsim.ops.softmax.tables import exp_table
from mfsim.simulate.dispatch import fast_kernel_of, plain_kernel_of
from tests.bits import assert_bit_equal


def forms(op, x, constants, attributes):
    """Return the node of a program of one row function, its fast kernel or None, and its constants."""
    builder = ProgramBuilder()
    names = [builder.input_tensor(x), *(builder.constant_tensor(tensor) for tensor in constants)]
    program = builder.finish([builder.node(op, names, attributes)])
    (node,) = program.nodes
    return node, fast_kernel_of(program, node), [np.array(tensor.codes) for tensor in constants]


def check(node_and_forms, codes):
    """Compare the fast kernel with the plain one."""
    node, fast, constants = node_and_forms
    plain, found = np.empty_like(codes), np.empty_like(codes)
    plain_kernel_of(node.op)([codes, *constants], node.attributes, [plain])
    fast([codes, *constants], node.attributes, [found])
    assert_bit_equal(found, plain)


def ranged(low, high, bits):
    """Return an input of two rows of 5 codes in low..high."""
    return replace(activation("x", (2, 5), Format(bits), Scale.of(-2)), range=Range.of(low, high))


@pytest.mark.parametrize("low", [-(2**31), 2**31 - 5, -5, -(2**40), 2**60])
def test_codes_far_from_zero(low):
    x = ranged(low, low + 9, 63)
    codes = np.random.default_rng(1).integers(low, low + 10, (3, 2, 5))
    table = constant("exp_table", exp_table(-2, 6, 12, 1.0))
    check(forms("softmax", x, [table], {"fraction": 8}), codes)
    entries = constant("table", np.arange(-3, 4))
    check(forms("table", x, [entries], {"first": low + 2}), codes)


def test_a_norm_of_codes_past_a_float64_has_no_fast_form():
    beta, gains = constant("beta", np.zeros(5, np.int64)), {"fraction": 0, "exponents": (-8,) * 5}
    thresholds = constant("thresholds", norm_thresholds("l1", Format(4), 5))
    assert forms("shift_norm_l1", ranged(2**52, 2**52 + 9, 60), [thresholds, beta], gains)[1] is None
    codes = np.random.default_rng(2).integers(2**48, 2**48 + 10, (3, 2, 5))
    check(forms("shift_norm_l1", ranged(2**48, 2**48 + 9, 60), [thresholds, beta], gains), codes)


def test_a_division_of_50_bits_has_no_fast_form():
    x = ranged(-4, 5, 4)
    for bits, whether in ((35, True), (36, False)):
        table = constant("exp_table", exp_table(-2, 6, bits, 1.0))
        assert (forms("softmax", x, [table], {"fraction": 12})[1] is not None) == whether
