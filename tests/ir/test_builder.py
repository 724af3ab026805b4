"""ProgramBuilder: names, proofs, derived attributes, and errors that name their node."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import FormatError, ModelError, RangeError, ShapeError, UnsupportedOpError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor


@pytest.fixture
def builder():
    made = ProgramBuilder()
    made.input("x", (4,), Format(8), Scale.of(-3))
    return made


def message_of(error, call) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_a_chain_is_proved(builder):
    total = builder.node("add", ["x", "x"], layer="net.residual")
    out = builder.node("relu", [total], layer="net.act")
    program = builder.finish([out], {"source": "test"})
    assert program.tensors["add"].range == Range.of(-256, 254)
    assert program.tensors["add"].format == Format(9)
    assert program.tensors["relu"].format == Format(8, False)
    assert program.tensors["relu"].scale == Scale.of(-3)
    assert program.layers() == ["net.residual", "net.act"]
    assert program.metadata == {"source": "test"}
    assert (program.inputs, program.outputs) == (("x",), ("relu",))


def test_derived_attributes_and_inner_words_are_filled_in(builder):
    b = builder.constant("b", np.array([1, -2, 3, 0]), scale=Scale.of(-5))
    builder.node("add", ["x", b])
    (node,) = builder.finish(["add"]).nodes
    assert node.attributes == {"shift_a": 2, "shift_b": 0}
    assert node.words == {"aligned_a": Format(10)}
    builder.node("requantize", ["x"], {"shift": (1,), "bits": 8})
    assert builder.finish(["requantize"]).nodes[-1].attributes["clamp"] == "none"


def test_names_are_made_unique(builder):
    assert builder.constant("x", np.array([1])) == "x_1"
    assert builder.constant("x", np.array([1])) == "x_2"
    assert [builder.node("relu", ["x"]) for _ in range(3)] == ["relu", "relu_1", "relu_2"]
    assert builder.node("relu", ["x"], name="act", outputs=["out"]) == "out"
    assert builder.node("relu", ["x"], name="act") == "act_1"
    assert [node.name for node in builder.finish(["out"]).nodes] == ["relu", "relu_1", "relu_2", "act", "act_1"]


def test_unused_tensors_are_left_out(builder):
    builder.constant("unused", np.array([1]))
    used = builder.constant("used", np.array([1]))
    builder.node("sub", ["x", used])
    assert set(builder.finish(["sub"]).tensors) == {"x", "used", "sub"}


def test_an_input_may_be_the_output(builder):
    assert builder.finish(["x"]).nodes == ()


def test_tensors_as_they_are():
    builder = ProgramBuilder()
    ranged = Tensor("x", (1, 2), Format(8), Scale.of(0), Range((-3, 0), (-1, 5), 1))
    builder.input_tensor(ranged)
    builder.constant_tensor(Tensor("w", (2,), Format(8), Scale.of(0), Range.of(-9, 9), np.array([1, 2])))
    builder.node("add", ["x", "w"])
    assert builder.tensors["add"].range == Range((-2, 2), (0, 7), 1)
    assert builder.finish(["add"]).tensors["w"].range == Range.of(-9, 9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda b: b.node("rlu", ["x"]),
            UnsupportedOpError,
            "node `rlu` (rlu) of `x` (1, 4) s8: `rlu` is not an op of the integer program; did you mean `relu`?",
        ),
        (
            lambda b: b.node("add", ["x"], name="sum"),
            ShapeError,
            "node `sum` (add) of `x` (1, 4) s8: op `add` takes the inputs a, b, not 1 of them",
        ),
        (
            lambda b: b.node("clip", ["x"], {"lo": 0}),
            FormatError,
            "node `clip` (clip) of `x` (1, 4) s8: op `clip` needs the attribute `hi`",
        ),
        (
            lambda b: b.node("clip", ["x"], {"lo": 0, "hi": 1, "low": 2}),
            UnsupportedOpError,
            "node `clip` (clip) of `x` (1, 4) s8: op `clip` has no attribute `low`; did you mean `lo`?",
        ),
        (
            lambda b: b.node("clip", ["x"], {"lo": 0, "hi": "6"}),
            FormatError,
            "node `clip` (clip) of `x` (1, 4) s8: `hi` of op `clip` must be of kind int, not '6'",
        ),
        (
            lambda b: b.node("sign", ["x"], {"sign_zero": 2}),
            FormatError,
            "node `sign` (sign) of `x` (1, 4) s8: `sign_zero` of op `sign` must be one of 0, 1, not 2",
        ),
        (
            lambda b: b.node("add", ["x", b.constant("b", np.array([0, 1]))]),
            ShapeError,
            "node `add` (add) of `x` (1, 4) s8, `b` (2,) u1: a constant operand of op `add` must broadcast to (4,), "
            "which (2,) does not",
        ),
        (
            lambda b: b.node("relu", ["y"]),
            ModelError,
            "node `relu` (relu) reads `y`, which nothing writes",
        ),
        (
            lambda b: b.node("relu", ["xx"]),
            ModelError,
            "node `relu` (relu) reads `xx`, which nothing writes; did you mean `x`?",
        ),
        (
            lambda b: b.node("relu", ["x"], outputs=["a", "b"]),
            ModelError,
            "node `relu` (relu) must have 1 outputs, not 2",
        ),
        (lambda b: b.node("relu", ["x"], outputs=["x"]), ModelError, "two tensors are called `x`"),
        (lambda b: b.input("x", (1,), Format(8)), ModelError, "two tensors are called `x`"),
        (lambda b: b.finish(["z"]), ModelError, "output `z` is written by no node"),
        (
            lambda b: b.constant("w", np.array([0.5])),
            FormatError,
            "the codes of `w` must be integers, not float",
        ),
        (
            lambda b: b.constant("w", np.array([0, 9]), Format(4)),
            RangeError,
            "tensor `w` has the range 0..9, which its word s4 (-8..7) does not hold",
        ),
    ],
)
def test_errors(builder, call, error, message):
    assert message_of(error, lambda: call(builder)) == message


def test_a_failed_node_leaves_nothing_behind(builder):
    message_of(ShapeError, lambda: builder.node("add", ["x"]))
    assert builder.node("add", ["x", "x"]) == "add"
    assert [node.name for node in builder.finish(["add"]).nodes] == ["add"]


def test_past_63_bits_names_the_node():
    builder = ProgramBuilder()
    builder.input("x", (1,), Format(63))
    message = message_of(RangeError, lambda: builder.node("add", ["x", "x"], name="layer1.sum"))
    assert message == (
        "node `layer1.sum` (add) of `x` (1, 1) s63, `x` (1, 1) s63: "
        "add needs 64 bits for -9223372036854775808..9223372036854775806, and at most 63 bits are possible"
    )
