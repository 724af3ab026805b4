"""Check the realisations of `half_step` in trees of sources: `python new_op_checks.py TREE ...` prints one JSON object each.

Every tree holds the packages `mfsim` and `tests`. What all trees share is imported first; then each is checked in a process of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

import brevitas.nn  # noqa: F401
import numba  # noqa: F401
import numpy as np
import onnx
import onnxruntime  # noqa: F401
import torch  # noqa: F401
from onnx import TensorProto, helper, numpy_helper


def given():
    """Yield the conformance cases of the op."""
    from mfsim import ops
    from tests.conformance.instance import Instance
    from tests.ops import cases

    every = cases.cases_of
    cases.cases_of = lambda name: every(name) if name == "half_step" else iter(())  # none of others is made
    for case in every("half_step"):
        yield Instance(ops.get("half_step"), case)


def run_all(checks):
    """Run the checks (name, function, case); there must be some."""
    done = 0
    for _, check, case in checks:
        check(case)
        done += 1
    assert done, "no check has run"


def definition():
    from tests.conformance import test_conformance as suite

    run_all(("range", suite.check_range, case) for case in given())


def plain_kernel():
    from tests.conformance import test_conformance as suite

    run_all(("kernel", check, case) for case in given() for check in (suite.check_kernel, suite.check_count))


def forms(name):
    """Return a check of the realisation that `tests/conformance/<name>.py` knows."""

    def check():
        module = importlib.import_module(f"tests.conformance.{name}")
        run_all((*named, case) for case in given() for named in module.checks(case))

    return check


def file():
    """Return model.onnx with one quantizer and the op."""
    from mfsim.ops.model_bodies import set_bodies

    parameters = [numpy_helper.from_array(np.float32(v), n) for n, v in (("s", 2.0**-4), ("z", 0), ("b", 8))]
    nodes = [
        helper.make_node(
            "Quant", ["x", "s", "z", "b"], ["q"], "q", domain="qonnx.custom_op.general", signed=1, narrow=0
        ),
        helper.make_node("HalfStep", ["q"], ["y"], "y", domain="org.mfsim"),
    ]
    nodes[0].attribute.append(helper.make_attribute("rounding_mode", "ROUND"))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 64]) for name in ("x", "y")]
    model = helper.make_model(helper.make_graph(nodes, "network", ends[:1], ends[1:], parameters), ir_version=10)
    set_bodies(model)
    onnx.checker.check_model(model, full_check=True)
    return model


def compiler_rule():
    from mfsim import compile_model

    compiled = compile_model(file())
    assert [node.op for node in compiled.nodes] == ["half_step"]


CHECKS = {
    "definition": definition,
    "plain_kernel": plain_kernel,
    "fast_kernel": forms("fast_forms"),
    "torch_function": forms("torch_forms"),
    "model_body": forms("onnx_forms"),
    "integer_body": forms("integer_forms"),
    "compiler_rule": compiler_rule,
}


def check(tree):
    """Return by check what went wrong, "" for nothing."""
    sys.path.insert(0, tree)
    found = {}
    for name, run in CHECKS.items():
        try:
            run()
            found[name] = ""
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def main():
    for tree in sys.argv[1:]:
        child = os.fork()
        if not child:
            print(json.dumps(check(tree)), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
