"""What integer.onnx says is proved when it is read: damaged, third-party and changed files are refused."""

from __future__ import annotations

import contextlib
import json
import random

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from mfsim.errors import ModelError
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model, write_integer
from tests.serialize.networks import mixed, transform

PROGRAM = transform()


def fresh() -> onnx.ModelProto:
    """Return a model that may be changed."""
    return integer_model(PROGRAM)


def refusal(model) -> str:
    """Return the message with which `model` is refused."""
    with pytest.raises(ModelError) as caught:
        read_integer(model)
    return str(caught.value)


def node(model, name):
    """Return the node called `name`."""
    return next(n for n in model.graph.node if n.name == name)


def initializer(model, name):
    """Return the initializer called `name`."""
    return next(i for i in model.graph.initializer if i.name == name)


def value(model, name):
    """Return the value_info, input or output called `name`."""
    infos = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    return next(info for info in infos if info.name == name)


def set_property(proto, key, text):
    """Overwrite one entry of the metadata."""
    next(entry for entry in proto.metadata_props if entry.key == key).value = text


def replace_codes(proto, change):
    """Replace the codes of an initializer by `change` of them, keeping its metadata."""
    made = numpy_helper.from_array(change(numpy_helper.to_array(proto).copy()), proto.name)
    proto.raw_data = made.raw_data


def add_one(codes):
    codes.reshape(-1)[0] += 1
    return codes


def test_a_written_file_is_the_same_program(tmp_path):
    path = tmp_path / "integer.onnx"
    write_integer(PROGRAM, path)
    for source in (path, str(path), onnx.load(path)):
        assert read_integer(source).digest() == PROGRAM.digest()


def test_a_file_after_shape_inference_is_the_same_program():
    assert read_integer(onnx.shape_inference.infer_shapes(fresh())).digest() == PROGRAM.digest()


def test_words_scales_and_ranges_stand_in_the_file():
    model = fresh()
    assert {e.key: e.value for e in value(model, "requantize").metadata_props} == {
        "mfsim.word": "s8",
        "mfsim.scale": '{"exponents":[-6],"axis":null}',
        "mfsim.range": '{"lo":[-128,-128,-128,-128,-128,-128,-128,-128],"hi":[127,127,127,127,127,127,127,127],"axis":2}',
    }
    assert {e.key: e.value for e in initializer(model, "threshold").metadata_props} == {
        "mfsim.word": "u4",
        "mfsim.scale": '{"exponents":[-6],"axis":null}',
        "mfsim.range": '{"lo":[0],"hi":[7],"axis":null}',
    }
    assert {e.key: e.value for e in node(model, "mf_matmul").metadata_props} == {
        "mfsim.op": "mf_matmul",
        "mfsim.inputs": '["requantize_1","weight","bias"]',
        "mfsim.outputs": '["mf_matmul"]',
        "mfsim.words": '{"acc_x":"s11","acc_w":"s7"}',
        "mfsim.layer": "head",
    }
    assert {e.key: e.value for e in model.metadata_props} == {
        "mfsim.integer": "1",
        "mfsim.digest": PROGRAM.digest(),
        "mfsim.ir.program.accuracy": "none: ü",
        "mfsim.ir.program.source": "a test",
    }


def derived_input(model):
    replace_codes(initializer(model, "requantize/divisor"), add_one)


def derived_matrix(model):
    replace_codes(initializer(model, "wht/left"), lambda h: -h)


def derived_type(model):
    target = initializer(model, "requantize/divisor")
    target.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(target).astype(np.int64), target.name))


def derived_missing(model):
    model.graph.initializer.remove(initializer(model, "wht/left"))


def initializer_of_nothing(model):
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(2, np.int32), "stray"))


def initializer_of_floats(model):
    target = initializer(model, "wht/left")
    target.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(target).astype(np.float32), target.name))


def constant_that_proves_other_ranges(model):
    replace_codes(initializer(model, "threshold"), np.flip)


def constant_outside_its_range(model):
    replace_codes(initializer(model, "threshold"), lambda t: t + 1)


def weight_that_needs_another_word(model):
    replace_codes(initializer(model, "weight"), np.zeros_like)


def word_of_an_output(model):
    set_property(value(model, "wht"), "mfsim.word", "s12")


def word_too_narrow(model):
    set_property(value(model, "wht"), "mfsim.word", "s10")


def word_of_nonsense(model):
    set_property(value(model, "wht"), "mfsim.word", "float32")


def scale_of_an_output(model):
    set_property(value(model, "wht"), "mfsim.scale", '{"exponents":[-7],"axis":null}')


def scale_that_is_no_integer(model):
    set_property(value(model, "wht"), "mfsim.scale", '{"exponents":[-7.5],"axis":null}')


def range_of_an_output(model):
    set_property(value(model, "requantize_1"), "mfsim.range", '{"lo":[-100],"hi":[100],"axis":null}')


def range_that_is_no_json(model):
    set_property(value(model, "requantize_1"), "mfsim.range", "{")


def inner_word(model):
    set_property(node(model, "wht"), "mfsim.words", '{"butterfly":"s9"}')


def layer(model):
    set_property(node(model, "wht"), "mfsim.layer", "elsewhere")


def unknown_op(model):
    set_property(node(model, "wht"), "mfsim.op", "wth")


def other_op(model):
    set_property(node(model, "wht"), "mfsim.op", "relu")


def no_layer(model):
    del node(model, "wht").metadata_props[:]


def no_range(model):
    del value(model, "wht").metadata_props[:]


def attribute(model):
    next(a for a in node(model, "wht").attribute if a.name == "order").s = b"natural"


def attribute_out_of_place(model):
    next(a for a in node(model, "wht").attribute if a.name == "order").s = b"dyadic"


def attribute_of_float(model):
    node(model, "wht").attribute.append(helper.make_attribute("factor", 0.5))


def function_called(model):
    node(model, "wht").op_type = "Requantize"


def function_body(model):
    function = next(f for f in model.functions if f.name == "Requantize")
    next(n for n in function.node if n.op_type == "GreaterOrEqual").op_type = "Greater"


def function_missing(model):
    del model.functions[0]


def two_outputs(model):
    model.graph.value_info.append(value(model, "wht"))
    model.graph.value_info[-1].name = "second"
    set_property(node(model, "wht"), "mfsim.outputs", '["wht","second"]')


def foreign_node(model):
    model.graph.node.append(helper.make_node("Relu", ["logits"], ["relu"], name="extra"))


def cast_between(model):
    model.graph.node.append(helper.make_node("Cast", ["logits"], ["copy"], name="extra", to=TensorProto.INT64))


def swapped_inputs(model):
    target = node(model, "soft_threshold")
    target.input[0], target.input[1] = target.input[1], target.input[0]


def swapped_nodes(model):
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[::-1])


def input_type(model):
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64


def fixed_batch(model):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4


def input_shape(model):
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5


def program_metadata(model):
    set_property(model, "mfsim.ir.program.accuracy", "100 %")


def layout(model):
    set_property(model, "mfsim.integer", "2")


def no_metadata(model):
    del model.metadata_props[:]


DIFFERS = "is not the one that its attributes give"
CHANGED = "the digest in the file is not that of its program: codes or metadata were changed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (derived_input, f"node `requantize`: the initializer `requantize/divisor` {DIFFERS}"),
        (derived_matrix, f"node `wht`: the initializer `wht/left` {DIFFERS}"),
        (derived_type, f"node `requantize`: the initializer `requantize/divisor` {DIFFERS}"),
        (derived_missing, f"node `wht`: the initializer `wht/left` {DIFFERS}"),
        (initializer_of_nothing, "initializer `stray` belongs to no node"),
        (initializer_of_floats, "initializer `wht/left` must be int32 or int64, not float32"),
        (
            constant_that_proves_other_ranges,
            "node `soft_threshold` (soft_threshold) has the output `soft_threshold` with another range than its inputs prove",
        ),
        (layer, CHANGED),
        (program_metadata, CHANGED),
        (word_of_an_output, "node `wht` (wht) has the output `wht` with another format than its inputs prove"),
        (scale_of_an_output, "node `wht` (wht) has the output `wht` with another scale than its inputs prove"),
        (
            range_of_an_output,
            "node `requantize_1` (requantize) has the output `requantize_1` with another range than its inputs prove",
        ),
        (input_shape, "node `wht` (wht) has the output `wht` with another shape than its inputs prove"),
        (attribute, f"node `wht`: the initializer `wht/column_order` {DIFFERS}"),
        (inner_word, "node `wht` (wht) has the inner words butterfly s9, and its inputs prove butterfly s12"),
        (no_layer, "node `wht` has no metadata `mfsim.op`"),
        (no_range, "the nodes of this integer model make no program: `wht` has no tensor"),
        (attribute_of_float, "attribute `factor` of node `wht` must be an int, ints or a string"),
        (function_called, "node `wht` (Wht) is not the one that its metadata describes"),
        (function_body, "the function `Requantize` is not the one that this version of mfsim writes"),
        (function_missing, "this integer model has 3 functions, and its metadata describes 4"),
        (two_outputs, "node `wht` (wht) must have 1 outputs, not 2"),
        (foreign_node, "node `extra` (Relu) is no op of the integer program"),
        (cast_between, "this integer model has 8 nodes, and its metadata describes 7"),
        (swapped_inputs, "node `soft_threshold` (SoftThreshold) is not the one that its metadata describes"),
        (input_type, "input `image` has another type or shape than its metadata describes"),
        (fixed_batch, "input `image` has another type or shape than its metadata describes"),
        (layout, "the layout of this integer model must be 1, not '2'"),
        (no_metadata, "the model has no metadata `mfsim.integer`"),
        (
            scale_that_is_no_integer,
            'the metadata `mfsim.scale` of tensor `wht` cannot be read: \'{"exponents":[-7.5],"axis":null}\'',
        ),
        (range_that_is_no_json, "the metadata `mfsim.range` of tensor `requantize_1` cannot be read: '{'"),
        (
            word_of_nonsense,
            "the metadata of tensor `wht` contradicts itself: a word must look like s8 or u7, not 'float32'",
        ),
        (
            word_too_narrow,
            "the metadata of tensor `wht` contradicts itself: tensor `wht` has the range -1024..1020, "
            "which its word s10 (-512..511) does not hold",
        ),
        (
            unknown_op,
            "node `wht` (wth) is not valid: `wth` is not an op of the integer program; did you mean `wht`?",
        ),
    ],
)
def test_changed_files_are_refused(change, message):
    model = fresh()
    change(model)
    assert refusal(model) == message


def test_codes_that_prove_the_same_ranges_are_told_by_the_digest():
    model = integer_model(mixed())
    replace_codes(initializer(model, "w"), np.flipud)
    assert refusal(model) == CHANGED


@pytest.mark.parametrize(
    "change",
    [constant_outside_its_range, weight_that_needs_another_word, other_op, attribute_out_of_place, swapped_nodes],
)
def test_changes_that_the_ops_themselves_refuse(change):
    model = fresh()
    change(model)
    assert refusal(model)


def test_every_truncated_file_is_refused(tmp_path):
    data = fresh().SerializeToString(deterministic=True)
    path = tmp_path / "cut.onnx"
    for length in [0, 1, 2, 7, *range(13, len(data), 211), len(data) - 1]:
        path.write_bytes(data[:length])
        assert refusal(path)


def test_flipped_bytes_never_give_another_program():
    data = bytearray(fresh().SerializeToString(deterministic=True))
    rng = random.Random(0)
    for _ in range(400):
        at, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
        data[at] ^= bit
        try:
            model = onnx.ModelProto.FromString(bytes(data))
        except DecodeError:
            pass
        else:
            with contextlib.suppress(ModelError):
                assert read_integer(model).digest() == PROGRAM.digest()
        data[at] ^= bit


def test_foreign_and_external_files(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, [1])],
        [helper.make_tensor_value_info("y", 1, [1])],
    )
    message = "this is no integer model of mfsim: it does not import the domain org.mfsim.integer"
    assert refusal(helper.make_model(graph)) == message
    model = fresh()
    onnx.external_data_helper.set_external_data(initializer(model, "weight"), location="../secret.bin")
    initializer(model, "weight").ClearField("raw_data")
    path = tmp_path / "integer.onnx"
    path.write_bytes(model.SerializeToString())
    assert refusal(path) == (
        "tensor `weight` keeps its data in the file `../secret.bin`, which lies outside the folder of the model"
    )


def test_metadata_is_plain_json():
    for info in (*fresh().graph.input, *fresh().graph.value_info):
        entries = {e.key: e.value for e in info.metadata_props}
        assert set(json.loads(entries["mfsim.scale"])) == {"exponents", "axis"}
        assert set(json.loads(entries["mfsim.range"])) == {"lo", "hi", "axis"}
