"""The form of an op in model.onnx stands twice: on `Op.signature`, and in the head of its function body. They agree."""

from __future__ import annotations

import pytest

from mfsim import ops
from mfsim.ops.model_bodies import bodies
from mfsim.ops.traits import DOMAIN

SIGNED = [op for op in ops.REGISTRY.values() if op.signature is not None]


@pytest.mark.parametrize("op", SIGNED, ids=lambda op: op.name)
def test_head_of_the_body_is_the_signature(op):
    signature, names = op.onnx, [given.name for given in op.onnx.inputs]
    for op_type in signature.op_types:
        body = bodies()[DOMAIN, op_type]
        masked = op_type != signature.op_type
        assert list(body.input) == ([*names, "mask"] if masked else names)
        assert list(body.attribute) == list(signature.attributes)


def test_every_body_of_the_domain_has_a_signature():
    found = {(DOMAIN, op_type) for op in SIGNED for op_type in op.onnx.op_types}
    assert found == {key for key in bodies() if key[0] == DOMAIN}
