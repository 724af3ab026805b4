"""The fast kernel of an op at every level of instructions that the machine has: the reference's codes.

Levels that the machine does not have are reported as skipped.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from mfsim.kernels import cpu
from mfsim.kernels.operands import stored
from mfsim.ops import fast_isas
from mfsim.simulate.dispatch import fast_kernel_of
from tests.bits import assert_bit_equal


def checks(given):
    if "fast" in given.op.realisations:
        for level in fast_isas(given.op.name):
            yield f"fast, {level}", functools.partial(check, level=level)


def check(given, level):
    if level not in cpu.available():
        pytest.skip(f"not run: this machine does not have {level}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cpu.VARIABLE, level)
        run = fast_kernel_of(given.program, given.node)
        if run is None:
            pytest.skip("no fast kernel for these words")
        whole = len(given.arrays[0])
        for count, narrow in ((whole, True), (whole, False), (1, True), (0, True)):
            _compare(given, run, level, count, narrow)


def _compare(given, run, level, count, narrow):
    activations = [tensor for tensor in given.case.inputs if not tensor.is_constant]
    words = [stored(t.range.low, t.range.high) if narrow else np.int64 for t in activations]
    inputs = given.inputs([array[:count].astype(word) for array, word in zip(given.arrays, words, strict=True)])
    before = [array.copy() for array in inputs]
    outputs = [
        np.full((count, *t.shape[1:]), 99, dtype=stored(t.range.low, t.range.high) if narrow else np.int64)
        for t in given.outputs
    ]
    events = run(inputs, given.node.attributes, outputs)
    for tensor, output, codes in zip(given.outputs, outputs, given.expected, strict=True):
        assert_bit_equal(output.astype(np.int64), codes[:count], f"{tensor.name} at {level}, {count} samples")
    assert events == given.events(count)
    for array, kept in zip(inputs, before, strict=True):
        assert_bit_equal(array, kept, "an input, which must stay as it was")
