"""Products with their weights and biases: equal to ONNX Runtime, and the bias where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import FormatError, MfsimError
from mfsim.ir.formats import Format, Scale
from tests.compiler.files import File, assert_like_runtime, images

RNG = np.random.default_rng(7)


def dense(file, op, shape, exponent=-3, bias=None, **attributes):
    """One product of the input with weights of `shape`, and perhaps an Add of a bias."""
    domain = "org.mfsim" if op.startswith("MF") else ""
    product = file.node(
        op, file.quant("x"), file.weights(RNG.normal(0, 1, shape), exponent), domain=domain, **attributes
    )
    return product if bias is None else file.node("Add", product, bias)


def inputs_of(program, op):
    (node,) = [node for node in program.nodes if node.op == op]
    return program.inputs_of(node)


MF = [{"form": form, "sign_zero": zero, "grid": "split"} for form in ("ef", "abs") for zero in (0, 1)]


@pytest.mark.parametrize("attributes", MF)
@pytest.mark.parametrize("exponent", [-3, [[-3, -6, -2, 0, -4]]])
@pytest.mark.parametrize("with_bias", [False, True])
def test_mf_matmul(attributes, exponent, with_bias):
    file = File(x=(3, 6))
    bias = file.constant(RNG.integers(-30, 30, 5) / 16) if with_bias else None
    program = assert_like_runtime(
        file.model(dense(file, "MFMatMul", (6, 5), exponent, bias, **attributes)), images((3, 6))
    )
    _, w, *biases = inputs_of(program, "mf_matmul")
    assert w.format == Format(4)
    assert len(biases) == with_bias
    assert [node.op for node in program.nodes] == ["mf_matmul"]


@pytest.mark.parametrize("grid", ["shared", "aligned"])
def test_grid_of_an_mf_product_is_kept(grid):
    file = File(x=(6,))
    exponent = -4 if grid == "shared" else -2
    model = file.model(dense(file, "MFMatMul", (6, 5), exponent, form="ef", sign_zero=0, grid=grid))
    assert assert_like_runtime(model, images((6,))).nodes[0].attributes["grid"] == grid


@pytest.mark.parametrize("exponent", [-3, [[-3, -6, -2, 0, -4]]])
@pytest.mark.parametrize("with_bias", [False, True])
def test_matmul(exponent, with_bias):
    file = File(x=(3, 6))
    bias = file.quant(file.constant(RNG.normal(0, 2, 5)), -4, 8) if with_bias else None
    program = assert_like_runtime(file.model(dense(file, "MatMul", (6, 5), exponent, bias)), images((3, 6)))
    assert len(inputs_of(program, "matmul")) == 2 + with_bias


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("bias_exponent", [None, -4, -7, [-7, -5, -5]])
def test_gemm(transposed, bias_exponent):
    file = File(x=(6,))
    shape, exponent = ((3, 6), [[-3], [-3], [-1]]) if transposed else ((6, 3), [[-3, -3, -1]])
    inputs = [file.quant("x"), file.weights(RNG.normal(0, 1, shape), exponent)]
    if bias_exponent is not None:
        values = RNG.normal(0, 2, 3) if bias_exponent != -7 else np.array([0.5, -2.0078125, 1.03125])
        inputs.append(file.quant(file.constant(values), bias_exponent, 12))
    model = file.model(file.node("Gemm", *inputs, transB=transposed, alpha=1.0, beta=1.0))
    program = assert_like_runtime(model, images((6,)))
    assert inputs_of(program, "matmul")[1].shape == (6, 3)
    assert program.tensors[program.outputs[0]].scale == Scale((-7, -7, -5), 1)


def test_weights_that_are_transposed_behind_their_quantizer():
    file = File(x=(6,))
    weights = file.weights(RNG.normal(0, 1, (5, 6)), [[-3], [-6], [-2], [0], [-4]])
    turned = file.node("Transpose", weights, perm=[1, 0], output="turned")
    model = file.model(file.mf("MFMatMul", file.quant("x"), turned, form="ef", sign_zero=0, grid="split"))
    _, w = inputs_of(assert_like_runtime(model, images((6,))), "mf_matmul")
    assert (w.name, w.shape, w.scale) == ("turned", (6, 5), Scale((-3, -6, -2, 0, -4), 1))


def test_weights_through_reshape_squeeze_and_cast():
    file = File(x=(6,))
    weights = file.weights(RNG.normal(0, 1, (5, 6)), [[-3], [-6], [-2], [0], [-4]])
    shape, axes = file.constant([1, 5, 3, 2], dtype=np.int64), file.constant([0], dtype=np.int64)
    moved = file.node("Squeeze", file.node("Reshape", weights, shape), axes)
    moved = file.node("Reshape", file.node("Cast", moved, to=1), file.constant([5, -1], dtype=np.int64))
    model = file.model(file.node("Gemm", file.quant("x"), moved, transB=1))
    assert inputs_of(assert_like_runtime(model, images((6,))), "matmul")[1].scale.axis == 1


@pytest.mark.parametrize("mode", ["ROUND", "FLOOR", "CEIL", "DOWN", "HALF_UP"])
@pytest.mark.parametrize(("signed", "narrow"), [(1, 0), (1, 1), (0, 0), (0, 1)])
def test_quant_of_constants(mode, signed, narrow):
    """Ties, both ends and values past them, with every rounding of the file."""
    file = File(x=(1,))
    values = np.arange(-80, 81)[None] / 32
    weights = file.weights(values, -3, 4, signed=signed, narrow=narrow, rounding_mode=mode)
    model = file.model(file.node("MatMul", file.quant("x"), weights))
    _, w = inputs_of(assert_like_runtime(model, images((1,))), "matmul")
    assert (w.range.low, w.range.high) == {(1, 0): (-8, 7), (1, 1): (-7, 7), (0, 0): (0, 15), (0, 1): (0, 14)}[
        signed, narrow
    ]


CONVOLUTIONS = [
    {},
    {"strides": [2, 1], "pads": [1, 0, 2, 1]},
    {"dilations": [2, 1], "pads": [1, 1, 1, 1]},
    {"group": 2, "pads": [1, 1, 1, 1]},
]


@pytest.mark.parametrize("window", CONVOLUTIONS)
@pytest.mark.parametrize("bias", ["none", "third input", "add"])
def test_conv(window, bias):
    file = File(x=(4, 6, 7))
    weights = file.weights(
        RNG.normal(0, 1, (6, 4 // window.get("group", 1), 3, 2)), np.array([-3, -4, -2, -3, 0, -5]).reshape(6, 1, 1, 1)
    )
    inputs = [file.quant("x"), weights]
    if bias == "third input":
        inputs.append(file.quant(file.constant(RNG.normal(0, 2, 6)), -4))
    made = file.node("Conv", *inputs, **window)
    if bias == "add":
        made = file.node("Add", file.constant(RNG.integers(-9, 9, (1, 6, 1, 1)) / 4), made)
    program = assert_like_runtime(file.model(made), images((4, 6, 7), 5))
    assert len(inputs_of(program, "conv2d")) == 2 + (bias != "none")


@pytest.mark.parametrize("window", CONVOLUTIONS)
@pytest.mark.parametrize("attributes", MF)
def test_mf_conv(window, attributes):
    file = File(x=(4, 6, 7))
    window = {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "group": 1} | window
    weights = file.weights(
        RNG.normal(0, 1, (6, 4 // window["group"], 3, 2)), np.array([-3, -4, -2, -6, 0, -5]).reshape(6, 1, 1, 1)
    )
    made = file.mf("MFConv", file.quant("x"), weights, **window, **attributes)
    made = file.node("Add", made, file.constant(RNG.integers(-9, 9, (6, 1, 1)) / 8))
    program = assert_like_runtime(file.model(made), images((4, 6, 7), 5))
    assert len(inputs_of(program, "mf_conv2d")) == 3


@pytest.mark.parametrize("attributes", MF)
def test_mf_mul(attributes):
    file = File(x=(3, 4))
    x = file.quant("x")
    constant = file.mf("MFMul", file.weights(RNG.normal(0, 1, (1, 3, 1)), -2), x, **attributes)
    model = file.model(file.mf("MFMul", constant, file.quant(x, -2, 4), **attributes))
    assert [node.op for node in assert_like_runtime(model, images((3, 4))).nodes] == ["mf_mul", "requantize", "mf_mul"]


@pytest.mark.parametrize("op", ["MatMul", "MFMatMul"])
def test_two_dynamic_operands(op):
    file = File(x=(3, 4))
    x = file.quant("x")
    turned = file.node("Transpose", file.quant(x, -2, 4), perm=[0, 2, 1])
    attributes = MF[3] if op == "MFMatMul" else {}
    model = file.model(file.node(op, x, turned, domain="org.mfsim" if attributes else "", **attributes))
    assert assert_like_runtime(model, images((3, 4))).tensors["t3"].shape == (1, 3, 3)


class TestBiasBehindAProduct:
    """When an Add of a constant is the bias, and when it stays an Add."""

    def ops(self, file, *outputs):
        return [node.op for node in assert_like_runtime(file.model(*outputs), images((6,))).nodes]

    def test_one_number(self):
        file = File(x=(6,))
        assert self.ops(file, dense(file, "MatMul", (6, 5), bias=file.constant(0.25))) == ["matmul"]

    @pytest.mark.parametrize("value", [0.5, [[0.5]]])
    def test_one_number_on_the_grids_of_all_outputs(self, value):
        file = File(x=(6,))
        exponent = [[-3, 0, -6, -2, -4]]
        made = dense(file, "MFMatMul", (6, 5), exponent, file.constant(value), **MF[0])
        program = assert_like_runtime(file.model(made), images((6,)))
        assert [node.op for node in program.nodes] == ["mf_matmul"]
        assert program.tensors[program.nodes[0].inputs[2]].codes.tolist() == [8, 8, 32, 8, 8]

    def test_name_of_the_output_is_that_of_the_add(self):
        file = File(x=(6,))
        made = dense(file, "MatMul", (6, 5), bias=file.constant(0.25))
        program = assert_like_runtime(file.model(made), images((6,)))
        assert program.outputs == (made,)
        assert program.nodes[0].name == "matmul2"

    def test_second_reader(self):
        file = File(x=(6,))
        product = dense(file, "MatMul", (6, 5))
        assert self.ops(file, file.node("Add", product, file.constant(0.25)), file.node("Relu", product)) == [
            "matmul",
            "add",
            "relu",
        ]

    def test_product_that_is_an_output(self):
        file = File(x=(6,))
        product = dense(file, "MatMul", (6, 5))
        assert self.ops(file, file.node("Add", product, file.constant(0.25)), product) == ["matmul", "add"]

    def test_constant_of_a_finer_grid(self):
        file = File(x=(6,))
        bias = file.quant(file.constant([0.1, 0.2, 0.3, 0.4, 0.5]), -11, 12)
        assert self.ops(file, dense(file, "MatMul", (6, 5), bias=bias)) == ["matmul", "add"]

    def test_second_bias(self):
        file = File(x=(6,))
        product = dense(file, "MatMul", (6, 5), bias=file.constant(0.25))
        assert self.ops(file, file.node("Add", product, file.constant(0.5))) == ["matmul", "add"]

    def test_one_bias_of_two_products(self):
        file = File(x=(6,))
        bias = file.constant([0.5, 1, 2, 3, 4])
        made = [dense(file, "MatMul", (6, 5), exponent, bias=bias) for exponent in (-3, -3, -2)]
        program = assert_like_runtime(file.model(*made), images((6,)))
        names = [node.inputs[2] for node in program.nodes if node.op == "matmul"]
        assert names == ["c0", "c0", "c0_1"]

    def test_constant_that_runs_along_another_axis(self):
        file = File(x=(3, 6))
        made = dense(file, "MatMul", (6, 5), bias=file.constant([[0.25], [0.5], [1]]))
        assert [n.op for n in assert_like_runtime(file.model(made), images((3, 6))).nodes] == ["matmul", "add"]


def message(error, model):
    with pytest.raises(error) as caught:
        assert_like_runtime(model, images((6,)))
    return str(caught.value)


def test_bias_of_a_gemm_beside_the_grid():
    file = File(x=(6,))
    bias = file.constant([0.5, 0.1, 0.25], "b")
    model = file.model(file.node("Gemm", file.quant("x"), file.weights(RNG.normal(0, 1, (6, 3))), bias, name="fc"))
    assert message(FormatError, model) == (
        "node `fc` (Gemm): the bias `b` must be quantized on the grid of what it meets: "
        "0.10000000149011612 at index 1 does not lie on the grid 2^-7"
    )


def test_weights_without_a_quantizer():
    file = File(x=(6,))
    model = file.model(file.node("MatMul", file.quant("x"), file.constant(RNG.normal(0, 1, (6, 3)), "w"), name="fc"))
    assert (
        message(MfsimError, model)
        == "node `fc` (MatMul): the weights must come from a Quant, not from the constant `w`"
    )


def test_weights_with_a_scale_for_each_input():
    file = File(x=(6,))
    weights = file.weights(RNG.normal(0, 1, (6, 3)), np.arange(6)[:, None] - 6)
    model = file.model(file.node("MatMul", file.quant("x"), weights, name="fc"))
    assert (
        message(MfsimError, model)
        == "node `fc` (MatMul): the weights must have one scale, or one for each output, not for each input"
    )


def test_weights_with_a_scale_for_each_entry():
    file = File(x=(6,))
    scale = np.arange(18).reshape(6, 3) - 18
    weights = file.weights(RNG.normal(0, 1, (6, 3)), scale, name="wq")
    model = file.model(file.node("MatMul", file.quant("x"), weights, name="fc"))
    assert (
        message(MfsimError, model)
        == "node `wq` (qonnx.custom_op.general::Quant): a scale must be one number, or one for each index of one axis"
    )


def test_weights_of_another_length():
    file = File(x=(6,))
    model = file.model(file.node("MatMul", file.quant("x"), file.weights(RNG.normal(0, 1, (5, 3))), name="fc"))
    assert (
        message(MfsimError, model)
        == "node `fc` (MatMul): x must end in K and constant weights must be [K, O], not (1, 6) and (5, 3)"
    )


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"transA": 1}, "`transA` must be 0, because axis 0 is the batch"),
        ({"alpha": 0.5}, "`alpha` must be 1, not 0.5; fold it into the weights before quantization"),
        ({"beta": 2.0}, "`beta` must be 1, not 2; fold it into the weights before quantization"),
    ],
)
def test_gemm_with_options(attributes, text):
    file = File(x=(6,))
    model = file.model(
        file.node("Gemm", file.quant("x"), file.weights(RNG.normal(0, 1, (6, 3))), name="fc", **attributes)
    )
    assert message(MfsimError, model) == f"node `fc` (Gemm): {text}"


def test_scales_of_channels_survive_a_flatten():
    file = File(x=(4, 6, 7))
    exponents = np.array([-3, -4, -2, -6, 0, -5]).reshape(6, 1, 1, 1)
    weights = file.weights(RNG.normal(0, 1, (6, 4, 3, 2)), exponents)
    made = file.node("Relu", file.node("Conv", file.quant("x"), weights))
    flat = file.node("Flatten", made)
    program = assert_like_runtime(file.model(file.quant(flat, -2, 8), flat), images((4, 6, 7), 5))
    assert [node.op for node in program.nodes] == ["conv2d", "relu", "flatten", "requantize"]
