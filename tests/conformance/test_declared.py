"""What an op declares is what there is: forms, bodies, and cases in which they run."""

from __future__ import annotations

import pytest

from mfsim import ops
from mfsim.kernels import cpu
from mfsim.ops.model_bodies import bodies
from mfsim.serialize.write import BODIES
from tests.conformance import onnx_forms, torch_forms
from tests.conformance.instance import Instance
from tests.ops.cases import cases_of


def declared(realisation):
    return {name for name, op in ops.REGISTRY.items() if realisation in op.realisations}


def instances(name):
    return (Instance(ops.get(name), case) for case in cases_of(name))


def test_every_fast_form_exists_and_every_form_is_declared():
    found = {name for module in ops.realisations("fast") for name in ops.REGISTRY if hasattr(module, f"prepare_{name}")}
    assert found == declared("fast")


@pytest.mark.parametrize("name", sorted(declared("fast")))
def test_every_fast_form_runs_on_any_machine(name):
    assert "portable" in ops.fast_isas(name)
    assert set(ops.fast_isas(name)) <= set(cpu.ISAS)


def test_every_torch_form_is_declared():
    assert set(torch_forms.FORMS) == declared("torch")


@pytest.mark.parametrize("name", sorted(declared("torch")))
def test_torch_forms_run_in_every_type(name):
    left = set(torch_forms.LARGEST)
    for given in instances(name):
        left -= set(torch_forms.types_of(given))
        if not left:
            break
    assert not left


def test_every_onnx_form_is_declared():
    assert set(onnx_forms.FORMS) == declared("onnx")


def test_every_body_in_a_model_is_run():
    left, idle = set(bodies()), []
    for name in sorted(declared("onnx")):
        models = [model for given in instances(name) if (model := onnx_forms.runnable_model(given)) is not None]
        if not models:
            idle.append(name)
        left -= {(node.domain, node.op_type) for model in models for node in model.graph.node}
    assert not idle
    assert not left


def test_every_integer_body_is_declared():
    assert set(BODIES) == declared("integer")
