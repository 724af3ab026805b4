"""Every op that has a fast form, every case, every level of instructions that the machine has: the reference's codes.

Levels that the machine does not have are reported as skipped.
"""

from __future__ import annotations

import importlib
import pathlib

import numpy as np
import pytest

from mfsim import kernels, ops
from mfsim.kernels import host
from mfsim.simulate.run import kernel_of
from tests.bits import assert_bit_equal
from tests.conformance.samples import samples
from tests.conformance.test_conformance import CASES, expected_of, inputs_of, program_of

FAST = {
    name: importlib.import_module(f"mfsim.kernels.fast_{name}")
    for name, op in ops.REGISTRY.items()
    if "fast" in op.realisations
}


def test_every_declared_form_exists_and_every_form_is_declared():
    files = pathlib.Path(kernels.__file__).parent.glob("fast_*.py")
    assert {path.stem.removeprefix("fast_") for path in files} == set(FAST)


@pytest.mark.parametrize("name", FAST)
def test_every_form_runs_on_any_machine(name):
    assert "portable" in FAST[name].FORMS
    assert set(FAST[name].FORMS) <= set(host.LEVELS)


@pytest.mark.parametrize(
    ("op", "case", "level"),
    [
        pytest.param(*case.values, level, id=f"{case.id}-{level}")
        for case in CASES
        if case.values[0].name in FAST
        for level in FAST[case.values[0].name].FORMS
    ],
)
def test_fast(op, case, level, monkeypatch):
    if level not in host.available():
        pytest.skip(f"not run: this machine does not have {level}")
    monkeypatch.setenv(host.VARIABLE, level)
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = samples(case)
    for count in (len(arrays[0]), 1, 0):
        inputs = inputs_of(case, [array[:count].copy() for array in arrays])
        before = [array.copy() for array in inputs]
        outputs = [np.full((count, *t.shape[1:]), -(2**62), dtype=np.int64) for t in program.outputs_of(node)]
        kernel_of(program, node, "fast")(inputs, node.attributes, outputs)
        for tensor, output, codes in zip(
            program.outputs_of(node), outputs, expected_of(op, case, node, arrays), strict=True
        ):
            assert_bit_equal(output, codes[:count], f"{tensor.name} at {level}, {count} samples")
        for array, kept in zip(inputs, before, strict=True):
            assert_bit_equal(array, kept, "an input, which must stay as it was")
