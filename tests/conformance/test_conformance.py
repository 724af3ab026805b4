"""Every op, every case, every realisation: equal to the reference bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim import ops
from mfsim.ir.builder import ProgramBuilder
from mfsim.ops.op import objects
from tests.bits import assert_bit_equal
from tests.conformance import counting
from tests.conformance.samples import limits, samples
from tests.ops.cases import cases_of

CASES = [
    pytest.param(op, case, id=f"{op.name}-{case.name}") for op in ops.REGISTRY.values() for case in cases_of(op.name)
]


def program_of(op, case):
    """Return the one-node program of a case."""
    builder = ProgramBuilder()
    names = [
        builder.constant_tensor(tensor) if tensor.is_constant else builder.input_tensor(tensor)
        for tensor in _unique(case.inputs)
    ]
    return builder.finish([builder.node(op.name, names, case.attributes, layer="layer")])


def _unique(tensors):
    from dataclasses import replace

    return [replace(tensor, name=f"{tensor.name}{k}") for k, tensor in enumerate(tensors)]


def inputs_of(case, arrays):
    """Return the codes of all inputs of a case, constants included."""
    dynamic = iter(arrays)
    return [np.array(t.codes) if t.is_constant else next(dynamic) for t in case.inputs]


def expected_of(op, case, node, arrays):
    """Return the reference outputs as int64; the reference itself computes in Python ints, which never wrap."""
    results = op.reference([objects(a) for a in inputs_of(case, arrays)], node.attributes)
    assert all(type(code) is int for r in results for code in np.ravel(np.asarray(r, dtype=object)))
    return [np.array(r, dtype=np.int64).reshape(np.shape(r)) for r in results]


def run_kernel(op, node, program, inputs, batch):
    """Run the compiled plain form and return its outputs."""
    outputs = [np.full((batch, *t.shape[1:]), -(2**62), dtype=np.int64) for t in program.outputs_of(node)]
    ops.plain_kernel(op.name)(inputs, node.attributes, outputs)
    return outputs


@pytest.mark.parametrize(("op", "case"), CASES)
def test_kernel(op, case):
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = samples(case)
    expected = expected_of(op, case, node, arrays)
    outputs = run_kernel(op, node, program, inputs_of(case, arrays), len(arrays[0]))
    for tensor, output, codes in zip(program.outputs_of(node), outputs, expected, strict=True):
        assert_bit_equal(output, codes, tensor.name)
    empty = [a[:0] for a in arrays]
    for output in run_kernel(op, node, program, inputs_of(case, empty), 0):
        assert output.shape[0] == 0


@pytest.mark.parametrize(("op", "case"), CASES)
def test_range(op, case):
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = samples(case)
    inference = op.infer(program.inputs_of(node), node.attributes)
    for tensor, codes in zip(program.outputs_of(node), expected_of(op, case, node, arrays), strict=True):
        assert codes.shape[1:] == tensor.shape[1:], f"shape {codes.shape} of {tensor.name}, inferred {tensor.shape}"
        low, high = limits(tensor)
        assert ((codes >= low) & (codes <= high)).all(), f"{tensor.name} leaves its proved range"
        if inference.tight and case.exhaustive:
            assert (codes.min(), codes.max()) == (tensor.range.low, tensor.range.high), "the bound is said to be tight"


@pytest.mark.parametrize(("op", "case"), CASES)
def test_count(op, case):
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = [a[-2:] for a in samples(case)]
    counter = counting.Counter()
    module = counting.rebuild(op.name, counter)
    batch = len(arrays[0])
    inputs = [
        np.array(tensor.codes) if tensor.is_constant else counting.codes(array)
        for tensor, array in zip(case.inputs, inputs_of(case, arrays), strict=True)
    ]
    outputs = [np.empty((batch, *t.shape[1:]), dtype=object) for t in program.outputs_of(node)]
    getattr(module, f"run_{op.name}")(inputs, node.attributes, outputs)
    for output, codes in zip(outputs, expected_of(op, case, node, arrays), strict=True):
        assert_bit_equal(counting.values(output), codes, "counting form")
    rows = op.count(node, program.inputs_of(node), program.outputs_of(node))
    counted = {}
    for row in rows:
        if not row.offline:
            counted[row.primitive] = counted.get(row.primitive, 0) + batch * row.count
    assert counted == dict(counter.counts)
    assert set(counted) <= op.primitives
