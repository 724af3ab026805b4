"""What only files of others may hold, one construct at a time: gains, offsets, zero points, unequal scales, old forms."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from mfsim.compiler import approximations, compile_model
from mfsim.errors import FormatError, MfsimError, ModelError, ShapeError, UnsupportedOpError
from tests.compiler.third_party import QONNX, ThirdParty, assert_exact, measured, reals

RNG = np.random.default_rng(3)


def ops(program):
    return [node.op for node in program.nodes]


def one(op, *constants, shape=(3, 4), scale=0.0625, behind=None, **attributes):
    """A file with one op behind the input's quantizer, and a quantizer behind it where `behind` is its scale."""
    file = ThirdParty(x=shape)
    inputs = [file.constant(c, dtype=np.asarray(c).dtype) for c in constants]
    y = file.node(op, file.quant("x", scale), *inputs, name="n", **attributes)
    return file.model(y if behind is None else file.quant(y, behind))


def f(value):
    return np.float32(value)


EXACT = {
    "gain": (one("Mul", f(3), behind=0.1875), ["gain", "requantize"]),
    "gains-of-both-signs": (
        one("Mul", f([[2], [-0.5], [0]]), behind=0.125),
        ["slice", "slice", "neg", "slice", "clip", "concat", "shift", "requantize"],
    ),
    "negative-gain": (one("Div", f(-4)), ["neg", "shift"]),
    "constant-on-the-grid": (one("Add", f([[0.5], [-1], [7]])), ["add"]),
    "constant-minus-x": (one("Sub", f(0.5)), ["sub"]),
    "mean-of-nine": (
        one("AveragePool", shape=(2, 6, 6), kernel_shape=[3, 3], strides=[3, 3], scale=9 / 64, behind=2.0**-5),
        ["sum_pool2d", "gain", "requantize"],
    ),
    "mean-over-the-plane": (
        one("GlobalAveragePool", shape=(2, 3, 5), scale=15 / 64, behind=2.0**-5),
        ["sum_pool2d", "gain", "requantize"],
    ),
    "pads-of-same": (
        one("MaxPool", shape=(2, 5, 6), kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
        ["max_pool2d"],
    ),
    "dropout": (one("Dropout"), ["shift"]),
    "free-scale-that-nothing-leaves": (one("Relu", scale=0.0311), ["relu"]),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact(name):
    model, expected = EXACT[name]
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim][1:]
    program = assert_exact(model, reals(shape, step=0.0625))
    assert ops(program) == expected
    assert not approximations(program)


@pytest.mark.parametrize("zero_point", [-3.0, 4.0, 7.0])
@pytest.mark.parametrize("rounding", ["ROUND", "FLOOR", "CEIL", "HALF_UP", "DOWN"])
@pytest.mark.parametrize("where", ["input", "inside"])
def test_zero_point_with_every_rounding(zero_point, rounding, where):
    """Ties to even with an odd zero point, and rounding by magnitude, went another way than in QONNX."""
    file = ThirdParty(x=(40,))
    x = "x" if where == "input" else file.quant("x", 2.0**-6, 12)
    y = file.quant(x, 0.25, 6, rounding_mode=rounding, zero_point=zero_point)
    values = reals((40,), 64, step=0.25)
    program = assert_exact(file.model(y), np.rint(values * 64).astype(np.float32) / 64)
    assert not approximations(program)


def test_zero_point_of_an_unsigned_word_costs_nothing_inside():
    file = ThirdParty(x=(40,))
    x = file.quant("x", 2.0**-6, 12)
    program = assert_exact(file.model(file.qdq(x, 0.25, 128, np.uint8)), reals((40,), step=0.25))
    assert ops(program) == ["requantize"]
    assert str(program.tensors[program.outputs[0]].format) == "s8"


def test_zero_point_of_weights():
    file = ThirdParty(x=(6,))
    x = file.qdq("x", 0.0625)
    w = file.stored(RNG.integers(0, 256, (6, 4)), 0.125, 131, np.uint8)
    program = assert_exact(file.model(file.node("MatMul", x, w)), reals((6,)))
    assert ops(program) == ["matmul"]


@pytest.mark.parametrize("op", ["Add", "Sub", "Concat"])
def test_operands_with_unequal_scales(op):
    file = ThirdParty(x=(3, 4), y=(3, 4))
    a, b = file.quant("x", 0.031), file.quant("y", 0.1177)
    options = {"axis": 1} if op == "Concat" else {}
    model = file.model(file.quant(file.node(op, a, b, name="join", **options), 0.123))
    feeds = {"x": reals((3, 4), seed=1, step=0.031), "y": reals((3, 4), seed=2, step=0.1177)}
    program, (error,) = measured(model, feeds)
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.01, str(error)
    assert any("`join`" in note for note in approximations(program))


def test_operands_powers_of_two_apart_are_only_shifted():
    file = ThirdParty(x=(3, 4), y=(3, 4))
    y = file.node("Add", file.quant("x", 0.031), file.quant("y", np.float32(0.031) * 4))
    program = compile_model(file.model(y))
    assert ops(program) == ["add"]
    assert not approximations(program)


def test_bound_of_relu6_behind_scales_of_each_channel():
    file = ThirdParty(x=(3, 5, 5))
    w = file.weights(RNG.normal(0, 0.5, (4, 3, 1, 1)), RNG.uniform(0.05, 0.1, (4, 1, 1, 1)), 8)
    y = file.node("Conv", file.quant("x", 0.031), w)
    y = file.node("Clip", y, file.constant(0.0), file.constant(6.0), name="relu6")
    program, (error,) = measured(file.model(file.quant(y, 6 / 255, 8, signed=0)), reals((3, 5, 5)))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.01, str(error)
    assert "clip" in ops(program)


def test_batch_norm_that_no_product_stands_in_front_of():
    file = ThirdParty(x=(3, 5))
    parameters = [[1.5, -0.5, 0.7], [0.1, 0.2, -0.3], [0.5, 0, -0.5], [1, 2, 0.5]]
    y = file.node("BatchNormalization", file.quant("x", 0.0625), *[file.constant(p) for p in parameters])
    program, (error,) = measured(file.model(file.quant(y, 0.03)), reals((3, 5)))
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.01, str(error)
    assert ops(program).count("neg") == 1


def test_signs_of_a_batch_norm_go_into_the_weights_in_front():
    file = ThirdParty(x=(6,))
    y = file.node("MatMul", file.quant("x", 0.0625), file.weights(RNG.normal(0, 0.4, (6, 4))))
    y = file.node("Add", y, file.constant([0.5, 0.25, -1, 2]))
    parameters = [[1, -2, 0, -1], [0, 0, 3, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    y = file.node("BatchNormalization", y, *[file.constant(p) for p in parameters], epsilon=0.0)
    program = assert_exact(file.model(file.quant(y, 0.5)), reals((6,)))
    assert ops(program) == ["matmul", "shift", "add", "requantize"]


ROUNDINGS = ["FLOOR", "CEIL", "ROUND", "DOWN"]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_truncation_of_version_1(rounding):
    """The bits fall away, and the scale stays: a division."""
    file = ThirdParty(x=(5,))
    parameters = [file.constant(v) for v in (0.25, 0.0, 8, 5)]
    y = file.node("Trunc", file.quant("x", 0.25), *parameters, domain=QONNX, rounding_mode=rounding)
    program = assert_exact(file.model(y), reals((5,), step=0.25, spread=20))
    assert ops(program) == ["requantize", "shift"]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("narrow", [0, 1])
def test_truncation_of_version_2(rounding, narrow):
    """The scale of the result is an input, and so is its word."""
    file = ThirdParty(x=(5,))
    parameters = [file.constant(v) for v in (0.25, 0.0, 8, 2.0, 4)]
    options = {"rounding_mode": rounding, "signed": 1, "narrow": narrow}
    y = file.node("Trunc", file.quant("x", 0.25), *parameters, domain=QONNX, **options)
    program = assert_exact(file.model(y, **{QONNX: 2}), reals((5,), step=0.25, spread=20))
    assert ops(program) == ["requantize"]
    assert str(program.tensors[program.outputs[0]].format) == "s4"


def test_truncation_in_two_ways_cannot_be_measured():
    file = ThirdParty(x=(5,))
    x = file.quant("x", 0.25)
    for rounding in ("FLOOR", "CEIL"):
        parameters = [file.constant(v) for v in (0.25, 0.0, 8, 7)]
        x = file.node("Trunc", x, *parameters, domain=QONNX, rounding_mode=rounding)
    with pytest.raises(UnsupportedOpError, match="Trunc can be measured in one form with one rounding of FLOOR, CEIL"):
        measured(file.model(x), reals((5,)))


def test_bipolar_input_and_weights():
    file = ThirdParty(x=(6,))
    x = file.node("BipolarQuant", "x", file.constant(1.0), domain=QONNX)
    w = file.node("BipolarQuant", file.constant(RNG.normal(0, 1, (6, 3))), file.constant(0.5), domain=QONNX)
    program = assert_exact(file.model(file.node("MatMul", x, w)), reals((6,)))
    assert (program.tensors["x"].range.low, program.tensors["x"].range.high) == (-1, 1)


@pytest.mark.parametrize("domain", ["onnx.brevitas", "finn.custom_op.general"])
def test_older_names_of_the_domain(domain):
    file = ThirdParty(x=(6,))
    model = file.model(file.quant("x", 0.5), opset=11)
    for thing in (*model.opset_import, *model.graph.node):
        thing.domain = domain if thing.domain == QONNX else thing.domain
    assert_exact(model, reals((6,), step=0.5))


def test_multiplier_of_few_bits_is_worse():
    file = ThirdParty(x=(64,))
    model = file.model(file.quant(file.quant("x", 0.0031, 12), 0.0127, 10))
    values = reals((64,), 256, step=0.0031)
    rates = [measured(model, values, multiplier_bits=bits)[1][0].rate for bits in (6, 12, 31)]
    assert rates[0] > 10 * rates[1] > 0
    assert rates[2] < 0.001


def refused(error, model, **options):
    with pytest.raises(MfsimError) as caught:
        compile_model(model, **options)
    assert type(caught.value) is error
    return str(caught.value)


HINTS = {
    "Softmax": "end the network in front of it; the largest of its inputs is the same",
    "Sigmoid": "it has no exact integer form; end the network in front of it, or write it as an org.mfsim::Table",
    "DynamicQuantizeLinear": "scales that follow from data are not supported; quantize with fixed scales",
    "Det": "leave it out of the model or write it with the ops that have a rule",
}


@pytest.mark.parametrize("op", HINTS)
def test_op_without_a_rule(op):
    text = f"node `n` has the op {op} of the domain ai.onnx, which has no rule; {HINTS[op]}"
    assert refused(UnsupportedOpError, one(op)) == text


def test_fused_ops_of_onnx_runtime():
    file = ThirdParty(x=(4,))
    model = file.model(file.node("QGemm", file.quant("x"), domain="com.microsoft", name="n"))
    assert refused(UnsupportedOpError, model) == (
        "node `n` (QGemm) is of the domain `com.microsoft`, whose ops belong to ONNX Runtime alone; quantize in its QDQ format"
    )


REFUSED = {
    "training": (
        one("BatchNormalization", *[np.ones(3, np.float32)] * 4, training_mode=1),
        UnsupportedOpError,
        "node `n` (BatchNormalization): `training_mode` must be 0; export the model in eval mode",
    ),
    "block": (
        one("QuantizeLinear", np.full((3, 2), 0.5, np.float32), np.zeros((3, 2), np.int8), block_size=2),
        UnsupportedOpError,
        "node `n` (QuantizeLinear): `block_size` must be 0; quantize per tensor or per channel",
    ),
    "float-codes": (
        one("QuantizeLinear", f(0.5), output_dtype=TensorProto.FLOAT8E4M3FN),
        UnsupportedOpError,
        "node `n` (QuantizeLinear): the codes must be integers, not float8_e4m3fn; quantize to integers of at most 32 bits",
    ),
    "zero-points-of-each-channel": (
        one("QuantizeLinear", f([0.5] * 3), np.int8([0, 1, 2])),
        UnsupportedOpError,
        "node `n` (QuantizeLinear): the zero point of an activation must be one number, not one for each channel",
    ),
    "negative-scale": (
        one("QuantizeLinear", f(-0.5), np.int8(0)),
        FormatError,
        "node `n` (QuantizeLinear): the scale must be positive, not -0.5",
    ),
    "weights-that-are-not-quantized": (
        one("MatMul", np.ones((4, 2), np.float32)),
        ModelError,
        "node `n` (MatMul): the weights must come from a Quant, not from the constant `c0`",
    ),
    "zero-point-between-integers": (
        (lambda file: file.model(file.quant("x", zero_point=0.5, name="n")))(ThirdParty(x=(4,))),
        FormatError,
        "node `n` (qonnx.custom_op.general::Quant): the zero point must be an integer, not 0.5",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    model, error, text = REFUSED[name]
    assert refused(error, model) == text


@pytest.mark.parametrize("bits", [1, 63, -1])
def test_bits_of_the_multiplier(bits):
    text = f"`multiplier_bits` must be 0 or in 2..62, not {bits}"
    assert refused(FormatError, one("Relu"), multiplier_bits=bits) == text


def test_without_multipliers_a_file_of_others_is_refused_like_one_of_the_dialect():
    text = "node `quant0` (qonnx.custom_op.general::Quant): the scale must be a power of two, not 0.30000001192092896"
    assert refused(FormatError, one("Relu", scale=0.3), multiplier_bits=0) == text


def test_file_of_a_fixed_batch():
    file = ThirdParty(x=(4,))
    model = file.model(file.node("Relu", file.quant("x")), batch=2)
    assert_exact(model, reals((4,), 8))
    with pytest.raises(ShapeError, match="works on batches of 2 samples, and 7 are no multiple of that"):
        measured(model, reals((4,), 7))


def test_shape_of_quantized_weights_and_clip_of_stored_ones():
    """Brevitas writes both: a shape to spread scales of channels by, and the ends of a word behind 8-bit storage."""
    file = ThirdParty(x=(6,))
    stored = file.constant(RNG.integers(-8, 8, (6, 4)), dtype=np.int8)
    clipped = file.node("Clip", stored, file.constant(-7, dtype=np.int8), file.constant(7, dtype=np.int8))
    w = file.node("DequantizeLinear", clipped, file.constant(0.5), file.constant(0, dtype=np.int8))
    again = file.node("Reshape", w, file.node("Shape", w))
    program = assert_exact(file.model(file.node("MatMul", file.quant("x"), again)), reals((6,)))
    (weights,) = program.constants()
    assert np.abs(weights.codes).max() == 7
