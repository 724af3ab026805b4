"""Every op, every case: its node in an exported file, with its body, run by stock ONNX Runtime on codes * scale.

Compared exactly with the reference, optimisations on and off, wherever float32 is exact; a case past
2**24 and one that ONNX has no node for are left out, and each op must have cases that are not.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from mfsim import ops
from mfsim.export.exactness import EXACT, float32_exact
from mfsim.export.runtime import session
from mfsim.ops.model_bodies import bodies
from tests.conformance.onnx_forms import FORMS, model_of, values_of
from tests.conformance.samples import samples
from tests.conformance.test_conformance import CASES, expected_of, program_of

DECLARED = {name for name, op in ops.REGISTRY.items() if "onnx" in op.realisations}


def exact(program):
    (node,) = program.nodes
    return float32_exact(node, program) and all(t.range.bound <= EXACT for t in program.inputs_of(node))


def runnable():
    """Yield the cases that can be compared, with their models."""
    for case in CASES:
        op, given = case.values
        if op.name in DECLARED and exact(program_of(op, given)):
            model = model_of(program_of(op, given))
            if not isinstance(model, str):
                yield pytest.param(op, given, model, id=case.id)


RUNNABLE = list(runnable())


def test_every_declared_op_has_a_form_and_cases_that_run():
    assert set(FORMS) == DECLARED
    assert {case.values[0].name for case in RUNNABLE} == DECLARED


def test_every_body_is_run():
    used = {(node.domain, node.op_type) for case in RUNNABLE for node in case.values[2].graph.node if node.domain}
    assert used == set(bodies())


@pytest.mark.parametrize(("op", "case", "model"), RUNNABLE)
def test_onnx(op, case, model):
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = samples(case)
    (output,) = program.outputs_of(node)
    expected = values_of(expected_of(op, case, node, arrays)[0], output)
    feeds = {name: values_of(codes, program.tensors[name]) for name, codes in zip(program.inputs, arrays, strict=True)}
    onnx.checker.check_model(model, full_check=True)
    for optimised in (False, True):
        opened = session(model, optimised)
        (found,) = opened.run(None, feeds)
        assert found.dtype == np.float32
        assert found.shape == expected.shape
        different = np.argwhere(found != expected)
        assert not len(different), f"{len(different)} values differ, first at {different[0]}, optimised {optimised}"
        (empty,) = opened.run(None, {name: values[:0] for name, values in feeds.items()})
        assert empty.shape == (0, *expected.shape[1:])
