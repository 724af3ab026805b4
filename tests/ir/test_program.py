"""Tensors, nodes and programs: what is frozen, what is refused, what the digest covers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mfsim.errors import FormatError, ModelError, RangeError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Program, Tensor, int64_codes
from tests.bits import assert_bit_equal

X = Tensor("x", (1, 2), Format(8), Scale.of(-3), Range.of(-128, 127))
W = Tensor("w", (2,), Format(4), Scale.of(-2), Range.of(-3, 5), np.array([-3, 5]))
Y = Tensor("y", (1, 2), Format(9), Scale.of(-3), Range((-131, -123), (124, 132), 1))
ADD = Node("add", "add", ("x", "w"), ("y",), {"shift_a": 0, "shift_b": 1}, {"aligned_b": Format(5)}, "net.add")


def program(inputs=("x",), outputs=("y",), tensors=(X, W, Y), nodes=(ADD,), **more) -> Program:
    return Program(inputs, outputs, {tensor.name: tensor for tensor in tensors}, nodes, {"source": "a"} | more)


def message_of(error, call) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_nothing_can_be_changed():
    whole = program()
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.inputs = ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.tensors["x"].format = Format(4)
    for mapping in (whole.tensors, whole.metadata, ADD.attributes, ADD.words):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["x"] = 1
    with pytest.raises(ValueError, match="read-only"):
        W.codes[0] = 1


def test_a_constant_does_not_follow_the_array_it_was_made_from():
    source = np.array([[1, 2], [3, 4]], order="F")
    tensor = Tensor("w", (2, 2), Format(4), Scale(), Range.of(0, 5), source)
    source[0, 0] = 5
    assert_bit_equal(tensor.codes, np.array([[1, 2], [3, 4]]))
    assert tensor.codes.flags.c_contiguous


def test_mappings_do_not_follow_the_ones_they_were_made_from():
    attributes = {"lo": 0}
    node = Node("n", "clip", ["x"], ["y"], attributes)
    attributes["lo"] = 1
    assert node.attributes == {"lo": 0}
    assert (node.inputs, node.outputs) == (("x",), ("y",))


def test_sizes():
    assert (X.is_constant, X.sample_size) == (False, 2)
    assert (W.is_constant, W.sample_size) == (True, 2)
    assert Tensor("s", (), Format(4), Scale(), Range.of(0, 3), np.array(3)).sample_size == 1


def test_reading_order():
    whole = program()
    assert whole.inputs_of(ADD) == [X, W]
    assert whole.outputs_of(ADD) == [Y]
    assert list(whole.constants()) == [W]
    assert whole.layers() == ["net.add"]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"range": Range.of(-129, 0)},
            RangeError,
            "tensor `x` has the range -129..0, which its word s8 (-128..127) does not hold",
        ),
        (
            {"range": Range((0, 0, 0), (1, 1, 1), 1)},
            ShapeError,
            "tensor `x` of shape (1, 2) has a range of 3 entries along axis 1",
        ),
        (
            {"scale": Scale((0, 1), 2)},
            ShapeError,
            "tensor `x` of shape (1, 2) has a scale of 2 entries along axis 2",
        ),
        (
            {"scale": Scale((0, 1), -1)},
            ShapeError,
            "tensor `x` of shape (1, 2) has a scale of 2 entries along axis -1",
        ),
        ({"codes": np.zeros(2, dtype=int)}, ShapeError, "tensor `x` has codes of shape (2,), not (1, 2)"),
        (
            {"codes": np.array([[0, 5]]), "range": Range.of(0, 4)},
            RangeError,
            "tensor `x` has codes in 0..5, outside its range 0..4",
        ),
        ({"codes": np.array([[0.5, 1]])}, FormatError, "the codes of `x` must be integers, not float"),
    ],
)
def test_tensor_errors(changes, error, message):
    assert message_of(error, lambda: dataclasses.replace(X, **changes)) == message


def test_codes_are_taken_exactly_or_refused():
    assert_bit_equal(int64_codes([2**63 - 1, -(2**62)], "w"), np.array([2**63 - 1, -(2**62)]))
    assert_bit_equal(int64_codes(np.array([3], dtype=object), "w"), np.array([3]))
    assert_bit_equal(int64_codes(np.array([200], dtype=np.uint8), "w"), np.array([200]))
    assert_bit_equal(int64_codes([], "w"), np.zeros(0, dtype=np.int64))
    assert message_of(RangeError, lambda: int64_codes([2**63], "w")) == (
        "w must fit int64, and reach 9223372036854775808..9223372036854775808"
    )
    assert message_of(RangeError, lambda: int64_codes([0, -(2**70)], "w")) == (
        "w must fit int64, and reach -1180591620717411303424..0"
    )
    assert message_of(FormatError, lambda: int64_codes(["1", None], "w")) == "w must be integers, not NoneType, str"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": ()}, "node `add` (add) reads `x` before anything writes it"),
        (
            {"nodes": (dataclasses.replace(ADD, name="late", inputs=("y", "w"), outputs=("z",)), ADD)},
            "node `late` (add) reads `y` before anything writes it",
        ),
        (
            {"nodes": (ADD, dataclasses.replace(ADD, name="again"))},
            "node `again` (add) writes `y`, which already has a value",
        ),
        (
            {"nodes": (dataclasses.replace(ADD, outputs=("w",)),)},
            "node `add` (add) writes `w`, which already has a value",
        ),
        ({"outputs": ("y", "z")}, "output `z` is written by no node"),
        ({"tensors": (X, W)}, "`y` has no tensor"),
        ({"inputs": ("x", "a")}, "`a` has no tensor"),
        ({"inputs": ("x", "x")}, "two inputs are called `x`"),
        ({"inputs": ("x", "w")}, "input `w` must not be a constant"),
        ({"nodes": (ADD, dataclasses.replace(ADD, outputs=("z",)))}, "two nodes are called `add`"),
    ],
)
def test_program_errors(changes, message):
    assert message_of(ModelError, lambda: program(**changes)) == message


def test_a_tensor_must_be_listed_under_its_name():
    call = lambda: Program(("a",), ("a",), {"a": X}, ())  # noqa: E731
    assert message_of(ModelError, call) == "tensor `x` is listed as `a`"


def _with(tensor, **changes):
    return program(tensors=[dataclasses.replace(t, **changes) if t is tensor else t for t in (X, W, Y)])


def _renamed(node_changes):
    return program(nodes=(dataclasses.replace(ADD, **node_changes),))


CHANGED = {
    "metadata": lambda: program(source="b"),
    "more metadata": lambda: program(target="a"),
    "outputs": lambda: program(outputs=("y", "x")),
    "an unused input": lambda: program(inputs=("x", "u"), tensors=(X, W, Y, dataclasses.replace(X, name="u"))),
    "shape": lambda: _with(X, shape=(1, 3)),
    "bits": lambda: _with(X, format=Format(9)),
    "scale": lambda: _with(X, scale=Scale.of(-4)),
    "scale axis": lambda: _with(Y, scale=Scale((-3, -2), 1)),
    "range": lambda: _with(Y, range=Range((-131, -123), (124, 131), 1)),
    "range axis": lambda: _with(Y, range=Range.of(-131, 132)),
    "codes": lambda: _with(W, codes=np.array([-3, 4])),
    "order of codes": lambda: _with(W, codes=np.array([5, -3])),
    "constant or not": lambda: program(inputs=("x", "w"), tensors=(X, dataclasses.replace(W, codes=None), Y)),
    "node name": lambda: _renamed({"name": "sum"}),
    "op": lambda: _renamed({"op": "sub"}),
    "order of inputs": lambda: _renamed({"inputs": ("w", "x")}),
    "attribute": lambda: _renamed({"attributes": {"shift_a": 0, "shift_b": 2}}),
    "attribute name": lambda: _renamed({"attributes": {"shift_a": 0, "shift_c": 1}}),
    "inner word": lambda: _renamed({"words": {"aligned_b": Format(6)}}),
    "layer": lambda: _renamed({"layer": "net.sum"}),
}


@pytest.mark.parametrize("what", CHANGED)
def test_digest_changes_with(what):
    assert CHANGED[what]().digest() != program().digest()


def test_digest_changes_with_the_sign_of_a_word_alone():
    signed, unsigned = (_with(X, format=Format(8, sign), range=Range.of(0, 99)) for sign in (True, False))
    assert signed.digest() != unsigned.digest()


def test_digest_changes_with_an_axis_alone():
    square = dataclasses.replace(X, shape=(1, 2, 2))
    scales = [dataclasses.replace(square, scale=Scale((-3, -2), axis)) for axis in (1, 2)]
    ranges = [dataclasses.replace(square, range=Range((0, 1), (2, 3), axis)) for axis in (1, 2)]
    assert len({program(tensors=(x, W, Y)).digest() for x in scales + ranges}) == 4


def test_digest_changes_where_a_tensor_of_no_codes_becomes_constant():
    empty = Tensor("e", (0,), Format(4), Scale(), Range.of(0, 3))
    constant = dataclasses.replace(empty, codes=np.zeros(0, dtype=int))
    assert program(tensors=(X, W, Y, empty)).digest() != program(tensors=(X, W, Y, constant)).digest()


def test_every_change_gives_a_digest_of_its_own():
    assert len({make().digest() for make in CHANGED.values()}) == len(CHANGED)


def test_digest_stays_with_the_order_in_which_tensors_are_listed():
    assert program(tensors=(Y, W, X)).digest() == program().digest()
    assert program().digest() == program().digest()
    assert len(program().digest()) == 64
