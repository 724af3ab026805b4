"""A node computes in int64 where an intermediate needs it, though all tensors around it are int32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from mfsim.serialize.write import integer_model, realise
from tests.bits import assert_bit_equal
from tests.serialize.running import random_codes, reference, run


def constants(*codes):
    return constant("c", np.array(codes))


def narrowed(lo, hi):
    return replace(activation("x", (2,), Format(31, False)), range=Range.of(lo, hi))


S16, S32 = activation("x", (2,), Format(16)), activation("x", (2,), Format(32))
CASES = {
    "a far right shift": ("requantize", (S16,), {"shift": (40,), "bits": 4}),
    "a left shift that saturates": ("requantize", (S16,), {"shift": (-20,), "bits": 8}),
    "a wrapping word": ("requantize", (S16,), {"shift": (2,), "bits": 34, "overflow": "wrap"}),
    "a saturating word": ("accumulator", (S16,), {"bits": 34}),
    "an aligned operand": (
        "add",
        (narrowed(2**31 - 9, 2**31 - 1), replace(constants(-(2**31), -(2**31)), scale=Scale.of(-1))),
        {},
    ),
    "the magnitude of the least code": ("soft_threshold", (S32, constants(1)), {"axis": 1}),
    "a far bound": ("clip", (S16,), {"lo": -5, "hi": 2**40}),
    "a far table": ("table", (S16, constants(3, 1, 2)), {"first": 2**40}),
    "a shifted part that the other cancels": (
        "mf_matmul",
        (narrowed(0, 2**25), replace(constants(*[[-(2**29)]] * 2), scale=Scale.of(-5))),
        {"form": "abs"},
    ),
}


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_intermediates_have_room(name, optimised):
    op, inputs, attributes = CASES[name]
    builder = ProgramBuilder()
    names = [builder.constant_tensor(t) if t.is_constant else builder.input_tensor(t) for t in inputs]
    program = builder.finish([builder.node(op, names, attributes)])
    model = integer_model(program)
    (node,) = program.nodes
    assert realise(node, program.inputs_of(node), program.outputs_of(node))[0] == TensorProto.INT64
    assert {i.type.tensor_type.elem_type for i in (*model.graph.input, *model.graph.output)} == {TensorProto.INT32}
    codes = random_codes(program, 12)
    (output,) = program.outputs
    assert_bit_equal(run(model, codes, optimised)[output], reference(program, codes)[output])


def test_everything_narrow_is_int32():
    builder = ProgramBuilder()
    x = builder.input("x", (4,), Format(31, False))
    program = builder.finish([builder.node("requantize", [x], {"shift": (30,), "bits": 31})])
    (node,) = program.nodes
    assert realise(node, program.inputs_of(node), program.outputs_of(node))[0] == TensorProto.INT32
    codes = {"x": np.array([[0, 2**29, 3 * 2**29, 2**31 - 1]])}
    assert_bit_equal(run(integer_model(program), codes)["requantize"], reference(program, codes)["requantize"])
