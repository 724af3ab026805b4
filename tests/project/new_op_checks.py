"""Check the realisations of `half_step` in trees of sources: `python new_op_checks.py TREE ...` prints one JSON object each.

Every tree holds a package `mfsim`. What all trees share is imported first; then each is checked in a process of its own.
"""

from __future__ import annotations

import json
import os
import sys

import numba  # noqa: F401
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

X = np.arange(-128, 128).reshape(4, 64)
EXPONENT = -4


def program():
    from mfsim import Format, ProgramBuilder, Scale

    builder = ProgramBuilder()
    x = builder.input("x", (64,), Format(8), Scale.of(EXPONENT))
    return builder.finish([builder.node("half_step", [x], {}, name="y", outputs=["y"])])


def same(codes, program):
    """Raise unless `codes` are those of the reference and in their proved range."""
    from mfsim import ops
    from mfsim.ops.op import objects

    expected = ops.get("half_step").reference([objects(X)], {})[0].astype(np.int64)
    assert np.array_equal(np.asarray(codes).astype(np.int64), expected), "the codes differ from the reference"
    assert (expected.min(), expected.max()) == (program.tensors["y"].range.low, program.tensors["y"].range.high)


def definition():
    from mfsim import count

    made = program()
    same(np.maximum(X, 2 * X), made)
    assert {row.primitive for row in count(made).rows} == {"shift", "cmp", "select"}


def plain_kernel():
    from mfsim.simulate import simulate

    made = program()
    same(simulate(made, {"x": X}, kernels="plain").outputs["y"], made)


def fast_kernel():
    from mfsim.simulate import dispatch, simulate

    made = program()
    assert dispatch.fast_form(made, made.nodes[0]) is not None
    same(simulate(made, {"x": X}, kernels="fast").outputs["y"], made)


def torch_function():
    from mfsim import ops

    values = torch.from_numpy(X * 2.0**EXPONENT).requires_grad_()
    result = ops.realisation("half_step", "torch").half_step(values)
    result.sum().backward()
    same(result.detach().numpy() * 2.0 ** (1 - EXPONENT), program())
    assert np.array_equal(values.grad[X != 0], np.where(X[X != 0] > 0, 1, 0.5))


def file():
    """Return model.onnx with one quantizer and the op."""
    from mfsim.ops.model_bodies import set_bodies

    parameters = [numpy_helper.from_array(np.float32(v), n) for n, v in (("s", 2.0**EXPONENT), ("z", 0), ("b", 8))]
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


def model_body():
    session = onnxruntime.InferenceSession(file().SerializeToString())
    (result,) = session.run(None, {"x": (X * 2.0**EXPONENT).astype(np.float32)})
    same(result * 2.0 ** (1 - EXPONENT), program())


def integer_body():
    from mfsim.export.runtime import session
    from mfsim.serialize.read import read_integer
    from mfsim.serialize.write import integer_model

    made = program()
    model = integer_model(made)
    opened = session(model, False)
    (result,) = opened.run(None, {"x": X.astype(np.int32)})
    same(result, made)
    assert read_integer(model).digest() == made.digest()


def compiler_rule():
    from mfsim import compile_model

    compiled = compile_model(file())
    assert [node.op for node in compiled.nodes] == ["half_step"]


CHECKS = (definition, plain_kernel, fast_kernel, torch_function, model_body, integer_body, compiler_rule)


def check(tree):
    """Return by check what went wrong, "" for nothing."""
    sys.path.insert(0, tree)
    found = {}
    for each in CHECKS:
        try:
            each()
            found[each.__name__] = ""
        except Exception as error:
            found[each.__name__] = f"{type(error).__name__}: {error}"
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
