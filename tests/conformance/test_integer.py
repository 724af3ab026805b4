"""Every op, every case: the body in integer.onnx, run by stock ONNX Runtime, equals the reference bit for bit."""

from __future__ import annotations

import onnx
import pytest

from mfsim import ops
from mfsim.export.runtime import session
from mfsim.serialize.bodies import BODIES
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from tests.bits import assert_bit_equal
from tests.conformance.samples import samples
from tests.conformance.test_conformance import CASES, expected_of, program_of
from tests.integer.running import run_session

DECLARED = {name for name, op in ops.REGISTRY.items() if "integer" in op.realisations}


def test_every_declared_body_exists_and_every_body_is_declared():
    assert set(BODIES) == DECLARED


@pytest.mark.parametrize(("op", "case"), [case for case in CASES if case.values[0].name in DECLARED])
def test_integer(op, case):
    program = program_of(op, case)
    (node,) = program.nodes
    arrays = samples(case)
    expected = dict(zip(node.outputs, expected_of(op, case, node, arrays), strict=True))
    model = integer_model(program)
    onnx.checker.check_model(model, full_check=True)
    for optimised in (False, True):
        opened = session(model, optimised)
        outputs = run_session(opened, dict(zip(program.inputs, arrays, strict=True)))
        empty = run_session(opened, {name: a[:0] for name, a in zip(program.inputs, arrays, strict=True)})
        for name, codes in expected.items():
            assert_bit_equal(outputs[name], codes, f"{name}, optimised {optimised}")
            assert_bit_equal(empty[name], codes[:0], f"{name} of an empty batch, optimised {optimised}")
    assert read_integer(model).digest() == program.digest()
