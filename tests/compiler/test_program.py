"""What the program keeps of the file: names, layers, metadata, and nothing else."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from mfsim.compiler import compile_model
from mfsim.ir.formats import Format, Range, Scale
from tests.compiler.files import File, assert_like_runtime, images


def network() -> onnx.ModelProto:
    file = File(pixels=(4, 4))
    flat = file.node("Flatten", "pixels", output="flat", layer="flatten")
    x = file.quant(flat, -4, 8, signed=0, output="fc.input_quant", name="/fc/input_quant/Quant")
    weights = file.weights(np.random.default_rng(0).normal(0, 1, (16, 8)), output="fc.weight_quant")
    made = file.mf("MFMatMul", x, weights, form="ef", sign_zero=0, grid="split", layer="fc", output="fc.product")
    hidden = file.node(
        "Relu",
        file.node("Add", made, file.constant(np.arange(8) / 4, "fc.bias"), output="fc"),
        output="relu",
        layer="act",
    )
    again = file.quant(hidden, -2, 4, signed=0, output="quantized")
    return file.model(file.node("Identity", again, output="logits"), file.node("Relu", again, output="more"))


def test_names_and_layers():
    program = assert_like_runtime(network(), images((4, 4)))
    assert program.inputs == ("pixels",)
    assert program.outputs == ("logits", "more")
    assert [(n.name, n.op, n.outputs, n.layer) for n in program.nodes] == [
        ("flatten0", "flatten", ("flat",), "flatten"),
        ("mfmatmul3", "mf_matmul", ("fc",), "fc"),
        ("relu5", "relu", ("relu",), "act"),
        ("quant6", "requantize", ("quantized",), ""),
        ("relu8", "relu", ("more",), ""),
        ("logits", "shift", ("logits",), ""),
    ]
    assert program.nodes[1].inputs == ("flat", "fc.weight_quant", "fc.bias")


def test_input_is_what_its_quantizer_makes():
    x = compile_model(network()).tensors["pixels"]
    assert (x.shape, x.format, x.scale, x.range) == ((1, 4, 4), Format(8, False), Scale.of(-4), Range.of(0, 255))


@pytest.mark.parametrize(("signed", "range_"), [(1, Range.of(-7, 7)), (0, Range.of(0, 14))])
def test_narrow_input(signed, range_):
    file = File(x=(4,))
    program = assert_like_runtime(
        file.model(file.node("Relu", file.quant("x", -1, 4, signed=signed, narrow=1))), images((4,))
    )
    assert program.tensors["x"].range == range_


@pytest.mark.parametrize(("mode", "rounding"), [("ROUND", "half_even"), ("FLOOR", "floor"), ("half_up", "half_away")])
def test_metadata(mode, rounding):
    file = File(x=(4,))
    model = file.model(file.node("Relu", file.quant("x", -4, rounding_mode=mode)))
    metadata = dict(compile_model(model).metadata)
    assert len(metadata.pop("source")) == 64
    assert metadata == {"format": "2", "input.x.rounding": rounding}


def test_rounding_of_the_input():
    file = File(x=(40,))
    assert_like_runtime(file.model(file.node("Relu", file.quant("x", -4, rounding_mode="FLOOR"))), images((40,)))


def test_same_file_gives_the_same_program(tmp_path):
    (tmp_path / "a").mkdir()
    onnx.save(network(), tmp_path / "a" / "one.onnx")
    onnx.save(network(), tmp_path / "two.onnx")
    programs = [
        compile_model(source) for source in (network(), tmp_path / "a" / "one.onnx", str(tmp_path / "two.onnx"))
    ]
    assert len({program.digest() for program in programs}) == 1
    text = repr([(p.metadata, p.tensors.keys(), p.nodes) for p in programs])
    assert str(tmp_path) not in text


def test_other_file_gives_another_digest():
    model = network()
    model.graph.initializer[0].raw_data = np.float32(2.0**-3).tobytes()
    assert compile_model(model).digest() != compile_model(network()).digest()


def test_model_is_not_changed():
    model = network()
    before = model.SerializeToString(deterministic=True)
    compile_model(model)
    assert model.SerializeToString(deterministic=True) == before


def test_nodes_that_no_output_needs_are_left_out():
    file = File(x=(4,))
    x = file.quant("x")
    file.node("Softmax", x)
    assert [n.op for n in compile_model(file.model(file.node("Relu", x))).nodes] == ["relu"]


def test_nodes_of_one_name():
    file = File(x=(4,))
    made = file.node("Relu", file.node("Neg", file.quant("x"), name="n"), name="n")
    assert [n.name for n in compile_model(file.model(made)).nodes] == ["n", "n_1"]


def test_nodes_without_a_name():
    file = File(x=(4,))
    file.node("Neg", file.quant("x"), output="y")
    file.nodes[-1].name = ""
    assert [n.name for n in compile_model(file.model("y")).nodes] == ["Neg_1"]


def test_codes_of_weights():
    program = compile_model(network())
    w = program.tensors["fc.weight_quant"]
    values = np.random.default_rng(0).normal(0, 1, (16, 8)).astype(np.float32)
    expected = np.clip(np.rint(values.astype(np.float64) * 8), -7, 7).astype(np.int64)
    assert np.array_equal(w.codes, expected)
    assert (w.format, w.scale) == (Format(4), Scale.of(-3))


def test_integer_weights_past_float32():
    """24 bits and more of a code are exact, which float32 arithmetic on codes would not be."""
    file = File(x=(1,))
    values = np.float32([[1 + 2.0**-23, 3.0 - 2.0**-22]])
    weights = file.weights(values, -28, 32)
    program = compile_model(file.model(file.node("MatMul", file.quant("x"), weights)))
    assert program.tensors[weights].codes.tolist() == [[2**28 + 2**5, 3 * 2**28 - 2**6]]
