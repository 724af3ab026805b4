"""Sessions of ONNX Runtime: files of strangers, batches, shapes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from mfsim.errors import ModelError, ShapeError
from mfsim.export.runtime import run, session


def doubling(weight=None):
    """Return y = x * weight for x [batch, 2]."""
    value = numpy_helper.from_array(np.array([2.0, 4.0], dtype=np.float32), "weight") if weight is None else weight
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "weight"], ["y"])],
        "doubling",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
        [value],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_batches_do_not_change_the_result(batch_size):
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    opened = session(doubling())
    for inputs in (x, {"x": x}):
        assert np.array_equal(run(opened, inputs, batch_size=batch_size)["y"], x * [2, 4])
    assert run(opened, x[:0], batch_size=batch_size)["y"].shape == (0, 2)


def test_inputs_that_do_not_suit_the_model():
    opened = session(doubling())
    with pytest.raises(ShapeError, match=r"^input `x` must have the shape \(batch, 2\), not \(4, 3\)$"):
        run(opened, np.zeros((4, 3), dtype=np.float32))
    with pytest.raises(ShapeError, match=r"^input `x` must have the shape \(batch, 2\), not \(2,\)$"):
        run(opened, np.zeros(2, dtype=np.float32))
    with pytest.raises(ShapeError, match=r"^the model has the inputs x, not z$"):
        run(opened, {"z": np.zeros((1, 2), dtype=np.float32)})
    with pytest.raises(ShapeError, match=r"same number of samples, not \[1\], in batches of at least 1$"):
        run(opened, np.zeros((1, 2), dtype=np.float32), batch_size=0)


def test_missing_empty_and_cut_files(tmp_path):
    path = tmp_path / "model.onnx"
    with pytest.raises(ModelError, match=r"^model file `.*model.onnx` does not exist$"):
        session(path)
    path.write_bytes(b"")
    with pytest.raises(ModelError, match=r"^model file `.*model.onnx` is empty$"):
        session(path)
    path.write_bytes(doubling().SerializeToString()[:-20])
    with pytest.raises(ModelError, match=r"^model file `.*model.onnx` is truncated or no ONNX file$"):
        session(path)


def external(tmp_path, location):
    tensor = numpy_helper.from_array(np.array([2.0, 4.0], dtype=np.float32), "weight")
    set_external_data(tensor, location)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    path = tmp_path / "model" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(doubling(tensor).SerializeToString())
    return path


def test_external_data_beside_the_file_are_read(tmp_path):
    path = external(tmp_path, "weight.bin")
    (path.parent / "weight.bin").write_bytes(np.array([3.0, 5.0], dtype=np.float32).tobytes())
    assert run(session(path), np.ones((1, 2), dtype=np.float32))["y"].tolist() == [[3.0, 5.0]]


def test_external_data_outside_the_folder_are_not_read(tmp_path):
    (tmp_path / "secret.bin").write_bytes(np.array([3.0, 5.0], dtype=np.float32).tobytes())
    path = external(tmp_path, "../secret.bin")
    with pytest.raises(ModelError, match=r"which lies outside the folder of the model$"):
        session(path)


def test_an_op_that_onnx_runtime_does_not_have_is_one_sentence():
    model = doubling()
    model.graph.node[0].op_type = "Nonsense"
    with pytest.raises(ModelError, match=r"^ONNX Runtime refuses the model: .*Nonsense") as caught:
        session(model)
    assert "\n" not in str(caught.value)
    assert isinstance(model, onnx.ModelProto)
