"""Files that are not what they should be: one sentence each."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from mfsim.compiler import compile_model
from mfsim.compiler.frontend.reader import read_model
from mfsim.errors import MfsimError, ModelError, UnsupportedOpError
from mfsim.serialize.read import load
from tests.compiler.files import QONNX, File, assert_like_runtime, images


def network(**options) -> onnx.ModelProto:
    file = File(x=(6,))
    weights = file.weights(np.random.default_rng(0).normal(0, 1, (6, 3)))
    return file.model(file.node("Relu", file.node("MatMul", file.quant("x"), weights, name="fc")), **options)


def message(source, error=ModelError) -> str:
    with pytest.raises(error) as caught:
        compile_model(source)
    return str(caught.value)


def test_missing_file(tmp_path):
    assert message(tmp_path / "a.onnx") == f"model file `{tmp_path}/a.onnx` does not exist"


def test_folder(tmp_path):
    assert message(tmp_path) == f"`{tmp_path}` is a folder, not a model file"


def test_empty_file(tmp_path):
    path = tmp_path / "a.onnx"
    path.touch()
    assert message(str(path)) == f"model file `{path}` is empty"


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"{}", b"[net]\nlayers = 3\n"])
def test_other_file(tmp_path, content):
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    assert message(path) in (
        f"model file `{path}` is truncated or no ONNX file",
        f"model file `{path}` holds no graph with an output",
    )


def test_every_truncation_is_an_error(tmp_path):
    """A file that is cut off anywhere in front of the function bodies, which are not read, is refused."""
    model = network()
    del model.functions[:]
    data = model.SerializeToString()
    path = tmp_path / "a.onnx"
    path.write_bytes(data)
    digest = compile_model(path).digest()
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        try:
            assert compile_model(path).digest() != digest
        except MfsimError:
            continue
        pytest.fail(f"{length} of {len(data)} bytes were taken for a model")


def test_every_damage_is_an_error_or_harmless(tmp_path):
    """Bytes changed at random: a program or an error of mfsim, never another exception."""
    data = network().SerializeToString()
    rng = np.random.default_rng(0)
    path, errors = tmp_path / "a.onnx", 0
    for _ in range(400):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            compile_model(path)
        except MfsimError:
            errors += 1
    assert errors > 100


def test_op_with_too_few_inputs():
    model = network()
    model.graph.node[-1].op_type = "Add"
    assert message(model) == "node `relu3` (Add): the constant is missing"


def test_no_graph():
    assert message(onnx.ModelProto()) == "the model holds no graph with an output"


def external(model, folder, location, data=True, **entries):
    """Move the weights of `model` into the file `location`, and return the path of the model."""
    (tensor,) = [t for t in model.graph.initializer if t.dims == [6, 3]]
    raw = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in ({"location": location, "length": str(len(raw))} | entries).items():
        tensor.external_data.add(key=key, value=value)
    if data:
        (folder / location).write_bytes(raw)
    (folder / "a.onnx").write_bytes(model.SerializeToString())
    return folder / "a.onnx"


def test_external_data_gives_the_same_program(tmp_path):
    assert compile_model(external(network(), tmp_path, "a.data")).digest() == compile_model(network()).digest()


def test_external_data_without_a_path(tmp_path):
    path = external(network(), tmp_path, "a.data")
    assert message(onnx.load(path, load_external_data=False)) == (
        "tensor `c0` keeps its data in the file `a.data`, which cannot be found for a model without a path; compile the model's file"
    )


@pytest.mark.parametrize("location", ["../a.data", "/etc/passwd", "", "b/../../a.data"])
def test_external_data_outside_the_folder(tmp_path, location):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "a.data").write_bytes(bytes(72))
    path = external(network(), folder, location, data=False)
    assert (
        message(path)
        == f"tensor `c0` keeps its data in the file `{location}`, which lies outside the folder of the model"
    )


def test_external_data_through_a_link_outside_the_folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "a.data").write_bytes(bytes(72))
    (folder / "b.data").symlink_to(tmp_path / "a.data")
    path = external(network(), folder, "b.data", data=False)
    assert (
        message(path) == "tensor `c0` keeps its data in the file `b.data`, which lies outside the folder of the model"
    )


def hidden() -> TensorProto:
    """Return a tensor whose data lie outside the folder of any model."""
    tensor = TensorProto(name="hidden", data_type=TensorProto.INT8, dims=[72], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../a.data")
    return tensor


@pytest.mark.parametrize(
    "place", ["branch", "branch of a branch", "function", "attribute of a branch", "sparse", "sparse attribute"]
)
def test_external_data_outside_the_folder_wherever_the_tensor_is(tmp_path, place):
    model = network()
    if place == "function":
        model.functions.add(name="f", domain="d").node.add().attribute.add(name="value", t=hidden())
    elif place == "sparse":
        model.graph.sparse_initializer.add(values=hidden())
    elif place == "sparse attribute":
        model.graph.node.add(op_type="Constant").attribute.add(name="sparse_value").sparse_tensor.indices.CopyFrom(
            hidden()
        )
    else:
        graph = model.graph.node.add(op_type="If").attribute.add(name="then_branch").g
        if place == "branch of a branch":
            graph = graph.node.add(op_type="If").attribute.add(name="then_branch").g
        if place == "attribute of a branch":
            graph.node.add(op_type="Constant").attribute.add(name="value", t=hidden())
        else:
            graph.initializer.append(hidden())
    path = tmp_path / "a.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError) as caught:
        read_model(path)
    assert str(caught.value) == (
        "tensor `hidden` keeps its data in the file `../a.data`, which lies outside the folder of the model"
    )


def test_external_data_missing(tmp_path):
    path = external(network(), tmp_path, "a.data", data=False)
    assert message(path) == "tensor `c0` keeps its data in the file `a.data`, which does not exist beside the model"


def test_external_data_too_short(tmp_path):
    path = external(network(), tmp_path, "a.data", offset="4")
    assert message(path) == "tensor `c0` keeps its data in the file `a.data`, which has 72 bytes and should have 76"


def test_external_data_with_a_negative_offset(tmp_path):
    path = external(network(), tmp_path, "a.data", offset="-4")
    assert message(path) == "tensor `c0` keeps its data in the file `a.data`, with the offset '-4', which is no number"


def test_damaged_initializer():
    model = network()
    (tensor,) = [t for t in model.graph.initializer if t.dims == [6, 3]]
    tensor.raw_data = tensor.raw_data[:-3]
    assert message(model) == "tensor `c0` has damaged data: its size or type does not suit its shape"
    model = network()
    (tensor,) = [t for t in model.graph.initializer if t.dims == [6, 3]]
    tensor.dims[0] = -1
    assert message(model) == "tensor `c0` has damaged data: its size or type does not suit its shape"


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_weights_that_are_no_numbers(value, what):
    file = File(x=(6,))
    values = np.ones((6, 3))
    values[2, 1] = value
    weights = file.quant(file.constant(values, "fc.weight"), -3, 4)
    assert message(file.model(file.node("MatMul", file.quant("x"), weights))) == f"initializer `fc.weight` holds {what}"


def test_no_opset():
    model = network()
    del model.opset_import[:]
    assert message(model) == "the model declares no version of the standard ONNX opset; export it again"


@pytest.mark.parametrize("version", [9, 99])
def test_opset_that_is_too_old_or_new(version):
    model = network()
    model.opset_import[0].version = version
    assert message(model) == f"the standard opset must be of version 13..26, not {version}"


def test_dialect_of_another_version():
    assert message(network(**{"org.mfsim": 2})) == "the opset `org.mfsim` must be of version 1, not 2"


def test_unknown_domain():
    model = network()
    model.graph.node[0].domain = "qonnx.custom_op.generals"
    assert message(model, UnsupportedOpError) == (
        "node `quant0` (Quant) is of the domain `qonnx.custom_op.generals`, which mfsim does not know; "
        "did you mean `qonnx.custom_op.general`?; known are the standard ops and org.mfsim, qonnx.custom_op.general"
    )


def test_domain_without_a_version():
    model = network()
    (entry,) = [entry for entry in model.opset_import if entry.domain == QONNX]
    model.opset_import.remove(entry)
    assert (
        message(model) == f"node `quant0` (Quant) is of the domain `{QONNX}`, whose version the model does not declare"
    )


def test_sparse_initializer():
    model = network()
    model.graph.sparse_initializer.add()
    assert message(model) == "sparse initializers are not supported; store them as dense ones"


@pytest.mark.parametrize(
    ("kind", "shown"),
    [(TensorProto.INT32, "int32"), (TensorProto.FLOAT16, "float16"), (0, "of no known type"), (77, "of no known type")],
)
def test_input_of_another_type(kind, shown):
    model = network()
    model.graph.input[0].type.tensor_type.elem_type = kind
    assert message(model) == f"graph input `x` must be float32 or int64, not {shown}"


def test_input_without_a_shape():
    model = network()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert message(model) == "graph input `x` must have a shape whose axis 0 is the batch"


@pytest.mark.parametrize(("size", "shown"), [("width", "width"), (0, "?")])
def test_second_dynamic_axis(size, shown):
    model = network()
    dim = model.graph.input[0].type.tensor_type.shape.dim[1]
    dim.dim_param, dim.dim_value = ("width", 0) if size else ("", 0)
    if size:
        dim.ClearField("dim_value")
        dim.dim_param = size
    assert (
        message(model)
        == f"axis 1 of graph input `x` must have a fixed size, not {shown}; only axis 0, the batch, may vary"
    )


def test_initializers_that_are_inputs_too():
    model = network()
    (tensor,) = [t for t in model.graph.initializer if t.dims == [6, 3]]
    model.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, [6, 3]))
    program = compile_model(model)
    assert program.inputs == ("x",)


def test_nodes_in_a_wrong_order():
    model = network()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[::-1])
    assert message(model) == "node `relu3` (Relu) reads `t2` before anything writes it"


def test_two_writers_of_a_name():
    model = network()
    model.graph.node[-1].output[0] = "t2"
    assert message(model) == "node `relu3` (Relu) writes `t2`, which already has a value"


def test_output_that_nothing_writes():
    model = network()
    model.graph.output[0].name = "logits"
    assert message(model) == "graph output `logits` is written by no node"


def test_load_chooses_by_content(tmp_path):
    from mfsim.serialize.write import write_integer

    program = compile_model(network())
    write_integer(program, tmp_path / "integer.onnx")
    onnx.save(network(), tmp_path / "model.onnx")
    assert load(tmp_path / "integer.onnx").digest() == load(tmp_path / "model.onnx").digest() == program.digest()
    assert message(tmp_path / "integer.onnx") == (
        "this file is an integer program already; read it with `mfsim.compiler.read_integer`"
    )


def test_constant_nodes_in_place_of_initializers():
    model = network()
    for tensor in list(model.graph.initializer):
        model.graph.node.insert(0, onnx.helper.make_node("Constant", [], [tensor.name], value=tensor))
    del model.graph.initializer[:]
    program = assert_like_runtime(model, images((6,)))
    assert [node.op for node in program.nodes] == ["matmul", "relu"]
    assert numpy_helper.to_array(model.graph.node[0].attribute[0].t).size == 1
