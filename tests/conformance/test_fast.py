"""Every op that has a fast form, every case, every level of instructions that the machine has: the reference's codes.

Levels that the machine does not have are reported as skipped.
"""

from __future__ import annotations

import numpy as np
import pytest

from mfsim import ops
from mfsim.kernels import cpu
from mfsim.kernels.operands import stored
from mfsim.simulate.dispatch import fast_form, plain_form
from tests.bits import assert_bit_equal
from tests.conformance.samples import samples
from tests.conformance.test_conformance import CASES, expected_of, inputs_of, program_of

FAST = [name for name, op in ops.REGISTRY.items() if "fast" in op.realisations]


def test_every_declared_form_exists_and_every_form_is_declared():
    found = {name for module in ops.realisations("fast") for name in ops.REGISTRY if hasattr(module, f"prepare_{name}")}
    assert found == set(FAST)


@pytest.mark.parametrize("name", FAST)
def test_every_form_runs_on_any_machine(name):
    assert "portable" in ops.fast_isas(name)
    assert set(ops.fast_isas(name)) <= set(cpu.ISAS)


@pytest.mark.parametrize(
    ("op", "case", "level"),
    [
        pytest.param(*case.values, level, id=f"{case.id}-{level}")
        for case in CASES
        if case.values[0].name in FAST
        for level in ops.fast_isas(case.values[0].name)
    ],
)
def test_fast(op, case, level, monkeypatch):
    if level not in cpu.available():
        pytest.skip(f"not run: this machine does not have {level}")
    monkeypatch.setenv(cpu.VARIABLE, level)
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = samples(case)
    expected = expected_of(op, case, node, arrays)
    run = fast_form(program, node)
    if run is None:
        pytest.skip("no fast form for these words")
    activations = [tensor for tensor in case.inputs if not tensor.is_constant]
    for count, narrow in ((len(arrays[0]), True), (len(arrays[0]), False), (1, True), (0, True)):
        words = [stored(t.range.low, t.range.high) if narrow else np.int64 for t in activations]
        cut = [array[:count].astype(word) for array, word in zip(arrays, words, strict=True)]
        inputs = inputs_of(case, cut)
        before = [array.copy() for array in inputs]
        outputs = [
            np.full((count, *t.shape[1:]), 99, dtype=stored(t.range.low, t.range.high) if narrow else np.int64)
            for t in program.outputs_of(node)
        ]
        events = run(inputs, node.attributes, outputs)
        for tensor, output, codes in zip(program.outputs_of(node), outputs, expected, strict=True):
            assert_bit_equal(output.astype(np.int64), codes[:count], f"{tensor.name} at {level}, {count} samples")
        plain = [np.empty((count, *t.shape[1:]), np.int64) for t in program.outputs_of(node)]
        assert events == plain_form(node.op)([a.astype(np.int64) for a in inputs], node.attributes, plain)
        for array, kept in zip(inputs, before, strict=True):
            assert_bit_equal(array, kept, "an input, which must stay as it was")
