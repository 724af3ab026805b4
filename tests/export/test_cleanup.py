"""Passes on small graphs: what they change, and what they must leave alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from mfsim.export import cleanup

HEADER = '<ir_version: 10, opset_import: ["" : 20, "qonnx.custom_op.general" : 2]>'


def parsed(text, **constants):
    model = onnx.parser.parse_model(f"{HEADER}\n{text}")
    for name, values in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
    return model


def listed(model):
    return [(node.op_type, *node.input) for node in model.graph.node]


def constants(model):
    return {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in model.graph.initializer}


def test_standard_ops_on_constants_become_numbers_and_quantizers_stay():
    model = parsed(
        """g (float[batch, 2] x) => (float[batch, 2] y) {
            b = Neg (a)
            c = Abs (b)
            q = qonnx.custom_op.general.Quant <signed = 1, narrow = 0, rounding_mode = "ROUND"> (c, s, z, w)
            d = Add (x, c)
            y = Add (d, q)
        }""",
        a=np.float32([-1, 2]),
        s=np.float32(0.5),
        z=np.float32(0),
        w=np.float32(8),
    )
    cleanup.clean_up(model)
    assert listed(model) == [("Quant", "c", "s", "z", "w"), ("Add", "x", "c"), ("Add", "d", "q")]
    assert constants(model) == {"s": 0.5, "z": 0.0, "w": 8.0, "c": [1.0, 2.0]}


def test_a_result_equal_to_its_source_is_the_source():
    model = parsed(
        "g (float[batch, 2] x) => (float[batch, 2] y) { b = Slice (a, i, j, i, k) y = Add (x, b) }",
        a=np.float32([1, 2]),
        i=np.int64([0]),
        j=np.int64([2**62]),
        k=np.int64([1]),
    )
    cleanup.clean_up(model)
    assert listed(model) == [("Add", "x", "a")]


def test_equal_numbers_are_not_merged_and_shared_ones_are_parted():
    quant = '<signed = 1, narrow = 0, rounding_mode = "ROUND">'
    model = parsed(
        f"""g (float[batch, 2] x) => (float[batch, 2] y) {{
            a = qonnx.custom_op.general.Quant {quant} (x, s, z, w)
            b = qonnx.custom_op.general.Quant {quant} (x, s, z, w)
            y = Add (a, b)
        }}""",
        s=np.float32(0.5),
        z=np.float32(0),
        w=np.float32(8),
    )
    cleanup.clean_up(model)
    (_, *first), (_, *second), _ = listed(model)
    assert first == ["x", "s", "z", "w"]
    assert second == ["x", "s.of.b", "z.of.b", "w.of.b"]
    assert constants(model)["s.of.b"] == 0.5


RESHAPE = """g (float[batch, 2, 3] x) => (float[batch, six] y) {{
    s = Shape <start = {start}, end = {end}> (x)
    n = Squeeze (s)
    m = Reshape (n, one)
    shape = Concat <axis = 0> (m, rest)
    y = Reshape <allowzero = 1> (x, shape)
}}"""


def test_a_shape_that_knows_all_but_the_batch_becomes_constant():
    model = parsed(RESHAPE.format(start=0, end=1), one=np.int64([-1]), rest=np.int64([6]))
    cleanup.clean_up(model)
    assert listed(model) == [("Reshape", "x", "y.shape")]
    assert constants(model) == {"y.shape": [-1, 6]}
    assert not model.graph.node[0].attribute


@pytest.mark.parametrize(("start", "end", "rest"), [(0, 2, [3]), (0, 1, [-1])])
def test_a_shape_that_knows_less_stays(start, end, rest):
    model = parsed(RESHAPE.format(start=start, end=end), one=np.int64([-1]), rest=np.int64(rest))
    cleanup.clean_up(model)
    assert [node[0] for node in listed(model)] == ["Shape", "Squeeze", "Reshape", "Concat", "Reshape"]


def test_identities_vanish_but_ends_keep_their_names():
    model = parsed(
        "g (float[2] x) => (float[2] y, float[2] z) { a = Identity (x) b = Neg (a) y = Identity (b) c = Abs (b) z = Identity (x) d = Neg (c) }"
    )
    cleanup.clean_up(model)
    assert listed(model) == [("Neg", "x"), ("Identity", "x")]
    assert [node.output[0] for node in model.graph.node] == ["y", "z"]


QUANT = '<signed = 1, narrow = 1, rounding_mode = "ROUND">'


def test_a_transposed_quantizer_transposes_its_weight_and_scale():
    model = parsed(
        f"""g (float[batch, 3] x) => (float[batch, 2] y) {{
            q = qonnx.custom_op.general.Quant {QUANT} (w, s, z, b)
            t = Transpose <perm = [1, 0]> (q)
            y = MatMul (x, t)
        }}""",
        w=np.arange(6, dtype=np.float32).reshape(2, 3),
        s=np.float32([[1], [2]]),
        z=np.float32(0),
        b=np.float32(8),
    )
    cleanup.clean_up(model)
    assert [node[0] for node in listed(model)] == ["Quant", "MatMul"]
    known = constants(model)
    weight, scale = (known[name] for name in model.graph.node[0].input[:2])
    assert weight == [[0, 3], [1, 4], [2, 5]]
    assert scale == [[1, 2]]


def test_a_quantizer_with_two_readers_is_not_transposed():
    model = parsed(
        f"""g (float[batch, 2] x) => (float[batch, 2] y) {{
            q = qonnx.custom_op.general.Quant {QUANT} (w, s, z, b)
            t = Transpose <perm = [1, 0]> (q)
            a = MatMul (x, t)
            y = MatMul (a, q)
        }}""",
        w=np.float32([[1, 2], [3, 4]]),
        s=np.float32(1),
        z=np.float32(0),
        b=np.float32(8),
    )
    cleanup.clean_up(model)
    assert [node[0] for node in listed(model)] == ["Quant", "Transpose", "MatMul", "MatMul"]
    assert constants(model)["w"] == [[1, 2], [3, 4]]
