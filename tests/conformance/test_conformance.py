"""Every op, every case, every realisation: equal to the reference bit for bit.

One test for each case computes the expected codes once and reports each realisation as a subtest.
"""

from __future__ import annotations

import numpy as np
import pytest

from mfsim import ops
from tests.bits import assert_bit_equal
from tests.conformance import counting, fast_forms, integer_forms, onnx_forms, torch_forms
from tests.conformance.instance import Instance, run_kernel
from tests.conformance.samples import limits
from tests.ops.cases import cases_of

CASES = [
    pytest.param(op, case, id=f"{op.name}-{case.name}") for op in ops.REGISTRY.values() for case in cases_of(op.name)
]


def check_kernel(given):
    outputs = run_kernel(given.op, given.node, given.program, given.inputs(), len(given.arrays[0]))
    for tensor, output, codes in zip(given.outputs, outputs, given.expected, strict=True):
        assert_bit_equal(output, codes, tensor.name)
    empty = given.inputs([a[:0] for a in given.arrays])
    for output in run_kernel(given.op, given.node, given.program, empty, 0):
        assert output.shape[0] == 0


def check_range(given):
    inference = given.op.infer(given.program.inputs_of(given.node), given.node.attributes)
    for tensor, codes in zip(given.outputs, given.expected, strict=True):
        assert codes.shape[1:] == tensor.shape[1:], f"shape {codes.shape} of {tensor.name}, inferred {tensor.shape}"
        low, high = limits(tensor)
        assert ((codes >= low) & (codes <= high)).all(), f"{tensor.name} leaves its proved range"
        if inference.tight and given.case.exhaustive:
            assert (codes.min(), codes.max()) == (tensor.range.low, tensor.range.high), "the bound is said to be tight"


def check_count(given):
    op, node = given.op, given.node
    counter = counting.Counter()
    module = counting.rebuild(op.name, counter)
    arrays = [a[-2:] for a in given.arrays]
    batch = len(arrays[0])
    inputs = [
        np.array(tensor.codes) if tensor.is_constant else counting.codes(array)
        for tensor, array in zip(given.case.inputs, given.inputs(arrays), strict=True)
    ]
    outputs = [np.empty((batch, *t.shape[1:]), dtype=object) for t in given.outputs]
    getattr(module, f"run_{op.name}")(inputs, node.attributes, outputs)
    for output, codes in zip(outputs, given.expected, strict=True):
        assert_bit_equal(counting.values(output), codes[-2:], "counting form")
    rows = op.count(node, given.program.inputs_of(node), given.outputs)
    counted = {}
    for row in rows:
        if not row.offline:
            counted[row.primitive] = counted.get(row.primitive, 0) + batch * row.count
    assert counted == dict(counter.counts)
    assert set(counted) <= op.primitives


def checks(given):
    """Yield (name, check) of everything that can be held against the expected codes of a case."""
    yield "kernel", check_kernel
    yield "range", check_range
    yield "count", check_count
    for module in (fast_forms, torch_forms, onnx_forms, integer_forms):
        yield from module.checks(given)


@pytest.mark.parametrize(("op", "case"), CASES)
def test_conformance(op, case, subtests):
    given = Instance(op, case)
    for name, check in checks(given):
        with subtests.test(name):
            check(given)
