"""Programs of several nodes: stock ONNX Runtime gives the codes of the references, inlined or not."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.inliner
import onnx.reference
import pytest
from onnx import TensorProto

from mfsim.errors import ExportError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Program, Tensor
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import BODIES, integer_model
from tests.bits import assert_bit_equal
from tests.serialize.networks import NETWORKS, mixed
from tests.serialize.running import random_codes, reference, run


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_codes_of_onnx_runtime(name, optimised):
    program = NETWORKS[name]()
    model = integer_model(program)
    onnx.checker.check_model(model, full_check=True)
    codes = random_codes(program, 9)
    expected = reference(program, codes)
    outputs = run(model, codes, optimised)
    assert list(outputs) == list(program.outputs)
    for output, array in outputs.items():
        assert_bit_equal(array, expected[output], output)
        assert len(np.unique(array)) > 1


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_inlined_file_of_standard_operators_gives_the_same_codes(name, optimised):
    program = NETWORKS[name]()
    inlined = onnx.inliner.inline_local_functions(integer_model(program))
    assert not inlined.functions
    assert {node.domain for node in inlined.graph.node} == {""}
    codes = random_codes(program, 5)
    expected = reference(program, codes)
    for output, array in run(inlined, codes, optimised).items():
        assert_bit_equal(array, expected[output], output)


@pytest.mark.parametrize("name", NETWORKS)
def test_onnx_reference_evaluator_gives_the_same_codes(name):
    program = NETWORKS[name]()
    model = integer_model(program)
    types = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
    codes = random_codes(program, 3)
    feeds = {k: v.astype(np.int32 if types[k] == TensorProto.INT32 else np.int64) for k, v in codes.items()}
    expected = reference(program, codes)
    for output, array in zip(program.outputs, onnx.reference.ReferenceEvaluator(model).run(None, feeds), strict=True):
        assert_bit_equal(array.astype(np.int64), expected[output], output)


@pytest.mark.parametrize("name", NETWORKS)
def test_digest_survives_the_round_trip(name):
    program = NETWORKS[name]()
    again = read_integer(integer_model(program))
    assert again.digest() == program.digest()
    assert dict(again.metadata) == dict(program.metadata)
    assert again.layers() == program.layers()


def test_int64_stands_only_where_ranges_need_it():
    model = integer_model(mixed())
    types = {
        info.name: TensorProto.DataType.Name(info.type.tensor_type.elem_type)
        for info in (*model.graph.input, *model.graph.value_info, *model.graph.output)
    }
    assert types == {
        "x": "INT32",
        "wide": "INT64",
        "mf_matmul": "INT32",
        "matmul": "INT64",
        "requantize": "INT32",
        "add": "INT64",
        "requantize_1": "INT32",
        "shift": "INT32",
        "sub": "INT32",
    }
    casts = [(node.input[0], node.output[0]) for node in model.graph.node if node.op_type == "Cast"]
    assert casts == [
        ("x", "x/int64"),
        ("w", "w/int64"),
        ("requantize/int64", "requantize"),
        ("requantize_1/int64", "requantize_1"),
    ]


def test_inputs_and_constants_may_be_outputs():
    builder = ProgramBuilder()
    x = builder.input("x", (3,), Format(8))
    c = builder.constant("c", np.array([1, 2, 3]))
    y = builder.node("relu", [x])
    program = builder.finish([y, x, c, y])
    model = integer_model(program)
    outputs = run(model, {"x": np.array([[-1, 0, 5]])})
    assert_bit_equal(outputs["x"], np.array([[-1, 0, 5]]))
    assert_bit_equal(outputs["c"], np.array([1, 2, 3]))
    assert_bit_equal(outputs["relu"], np.array([[0, 0, 5]]))
    assert read_integer(model).digest() == program.digest()


def test_names_of_casts_and_derived_inputs_avoid_those_of_the_program():
    builder = ProgramBuilder()
    x = builder.input("y/gain", (2,), Format(8))
    x = builder.node("requantize", [x], {"shift": (1,), "bits": 6}, name="y")
    x = builder.node("requantize", [x], {"shift": (-30,), "bits": 40}, name="y/int64")
    program = builder.finish([x])
    model = integer_model(program)
    codes = random_codes(program, 6)
    assert_bit_equal(run(model, codes)[x], reference(program, codes)[x])
    assert read_integer(model).digest() == program.digest()


@pytest.mark.parametrize("op", ["abs", "neg"])
def test_least_code_of_32_bits_is_negated_in_64(op):
    builder = ProgramBuilder()
    program = builder.finish([builder.node(op, [builder.input("x", (1,), Format(32))])])
    outputs = run(integer_model(program), {"x": np.array([[-(2**31)]])})
    assert_bit_equal(outputs[op], np.array([[2**31]]))


@pytest.mark.parametrize("rounding", ["half_even", "half_up", "half_away", "floor", "ceil", "toward_zero"])
@pytest.mark.parametrize("signed", [0, 1])
def test_requantize_of_the_widest_words_never_overflows_inside(rounding, signed):
    word = Format(62 + signed, bool(signed))
    near = [1 << k for k in range(60)]
    ends = [word.lo, word.lo + 1, word.hi - 1, word.hi, 0, *near, *(n + 1 for n in near), *(n - 1 for n in near)]
    ends += [-n for n in ends if signed and n != word.lo]
    codes = {"x": np.array(ends, dtype=np.int64)[:, None]}
    for shift in (0, 1, 31, 32, 61, 62):
        builder = ProgramBuilder()
        x = builder.input("x", (1,), word)
        for overflow in ("saturate", "wrap"):
            for bits, other in ((63, 1), (63, 0), (62, 1), (1, 0), (1, 1)):
                attributes = {
                    "shift": (shift,),
                    "bits": bits,
                    "signed": other,
                    "rounding": rounding,
                    "overflow": overflow,
                }
                builder.node("requantize", [x], attributes)
        program = builder.finish([name for name in builder.tensors if name != "x"])
        expected = reference(program, codes)
        for output, array in run(integer_model(program), codes, optimised=shift % 2 == 0).items():
            assert_bit_equal(array, expected[output], f"{output}, shift {shift}")


def _program(tensor="x", stray=()):
    word, bounds = Format(8, False), Range.of(0, 255)
    tensors = {name: Tensor(name, (1, 2), word, Scale(), bounds) for name in (tensor, "y", *stray)}
    return Program((tensor,), ("y",), tensors, (Node("relu", "relu", (tensor,), ("y",)),))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (_program(tensor=""), "a tensor has an empty name, which ONNX reads as a missing input"),
        (_program(stray=("s",)), "tensor `s` has no value: it is no constant, no input and no node writes it"),
    ],
)
def test_programs_that_onnx_cannot_say(program, message):
    with pytest.raises(ExportError) as caught:
        integer_model(program)
    assert str(caught.value) == message


def test_an_op_without_a_body_is_named(monkeypatch):
    monkeypatch.delitem(BODIES, "relu")
    with pytest.raises(ExportError) as caught:
        integer_model(_program())
    assert str(caught.value) == "node `relu`: op `relu` has no integer body"
