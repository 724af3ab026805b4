"""Nodes without an exact integer form: each an error that names the node and says what to do."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.compiler import compile_model
from mfsim.errors import FormatError, MfsimError, ModelError, ShapeError, UnsupportedOpError
from tests.compiler.files import File


def message(error, model) -> str:
    with pytest.raises(error) as caught:
        compile_model(model)
    assert type(caught.value) is error
    return str(caught.value)


def one(op, *constants, shape=(3, 4), domain="", **attributes):
    file = File(x=shape)
    inputs = [file.constant(c, f"k{k}", dtype=np.asarray(c).dtype) for k, c in enumerate(constants)]
    return file.model(file.node(op, file.quant("x"), *inputs, domain=domain, name="n", **attributes))


def f(value):
    return np.float32(value)


def i(*values):
    return np.array(values, dtype=np.int64)


UNSUPPORTED = {
    "Softmax": "use a layer of mfsim.nn that exports a table or an integer algorithm",
    "BatchNormalization": "fold it before the export (mfsim.quant.fold)",
    "QuantizeLinear": "the file is in the QCDQ style; export it with Quant nodes (QONNX)",
    "Round": "the file computes in real numbers between quantizers; export it with mfsim.export",
    "Det": "leave it out of the model or write it with the ops that have a rule",
}


@pytest.mark.parametrize("op", UNSUPPORTED)
def test_op_without_a_rule(op):
    text = f"node `n` has the op {op} of the domain ai.onnx, which has no rule; {UNSUPPORTED[op]}"
    assert message(UnsupportedOpError, one(op)) == text


def test_mistyped_op_of_the_dialect():
    assert message(UnsupportedOpError, one("MFMatmul", domain="org.mfsim")) == (
        "node `n` has the op MFMatmul of the domain org.mfsim, which has no rule; did you mean `MFMatMul`?; "
        "leave it out of the model or write it with the ops that have a rule"
    )


QUANTIZERS = {
    "scale": ({"exponent": np.log2(0.3)}, "the scale must be a power of two, not 0.30000001192092896"),
    "negative scale": ({"exponent": np.nan}, None),
    "zero point": ({"zero_point": 3.0}, "the zero point must be 0, not 3.0"),
    "one bit": ({"bits": 1}, "the bit width must be an integer in 2..32, not 1"),
    "forty bits": ({"bits": 40}, "the bit width must be an integer in 2..32, not 40"),
    "half a bit": ({"bits": 7.5}, "the bit width must be an integer in 2..32, not 7.5"),
    "bits of each channel": ({"bits": [4, 8]}, "the bit width must be one number"),
    "rounding": (
        {"rounding_mode": "ROUNDD"},
        "`rounding_mode` must be one of ROUND, HALF_EVEN, CEIL, FLOOR, DOWN, ROUND_TO_ZERO, HALF_UP, not 'ROUNDD'; did you mean `ROUND`?",
    ),
    "shape of the scale": (
        {"exponent": [0, 1, 2, 3, 4]},
        "a scale of shape (5,) does not suit values of shape (1, 3, 4)",
    ),
}


@pytest.mark.parametrize("name", [name for name, (_, text) in QUANTIZERS.items() if text])
@pytest.mark.parametrize("where", ["input", "activation"])
def test_quantizer(name, where):
    options, text = QUANTIZERS[name]
    file = File(x=(3, 4))
    x = "x" if where == "input" else file.node("Relu", file.quant("x"))
    model = file.model(file.quant(x, **options, name="q"))
    assert message(FormatError, model) == f"node `q` (qonnx.custom_op.general::Quant): {text}"


def test_quantizer_of_weights_with_a_scale_that_is_no_power_of_two():
    file = File(x=(6,))
    weights = file.weights(np.ones((6, 3)), np.log2([[0.5, 0.7, 0.25]]), name="wq")
    text = "node `wq` (qonnx.custom_op.general::Quant): the scale must be a power of two, not 0.699999988079071 at index (0, 1)"
    assert message(FormatError, file.model(file.node("MatMul", file.quant("x"), weights))) == text


def test_scale_that_is_computed_from_an_activation():
    file = File(x=(4,))
    x = file.quant("x")
    model = file.model(
        file.node("Quant", x, x, file.constant(0), file.constant(8), domain="qonnx.custom_op.general", name="q")
    )
    text = "node `q` (qonnx.custom_op.general::Quant): the scale must be constant, not the activation `t0`"
    assert message(ModelError, model) == text


def test_value_that_is_used_before_any_quantizer():
    file = File(x=(4,))
    model = file.model(file.quant(file.node("Relu", "x", name="act")))
    assert (
        message(ModelError, model)
        == "node `act` (Relu) reads graph input `x` before any Quant; quantize the input first"
    )


def test_float_model():
    file = File(x=(4,))
    text = "the model has no Quant node, so it is not quantized; compile the model.onnx that `mfsim export` writes"
    assert message(ModelError, file.model(file.node("Relu", "x"))) == text


def test_input_that_is_quantized_only_for_some():
    file = File(x=(4,))
    model = file.model(file.node("Add", file.quant("x"), "x", name="skip"))
    assert (
        message(ModelError, model)
        == "node `skip` (Add) reads graph input `x` before any Quant; quantize the input first"
    )


def test_input_that_nothing_reads():
    file = File(x=(4,), y=(4,))
    assert message(ModelError, file.model(file.quant("x"))) == "graph input `y` is read by no Quant; quantize it first"


def test_output_that_is_an_input():
    file = File(x=(4,))
    text = "graph output `x` is graph input `x` without a Quant; quantize it first"
    assert message(ModelError, file.model("x", file.quant("x"))) == text


def test_output_that_is_constant():
    file = File(x=(4,))
    weights = file.weights(np.ones((2, 2)))
    assert message(ModelError, file.model(file.quant("x"), weights)) == f"graph output `{weights}` is constant"


@pytest.mark.parametrize(
    "other", [{"exponent": -3}, {"bits": 7}, {"signed": 0}, {"narrow": 1}, {"rounding_mode": "FLOOR"}]
)
def test_quantizers_of_an_input_that_differ(other):
    file = File(x=(4,))
    model = file.model(file.quant("x", **{"exponent": -4}, name="q"), file.quant("x", **other, name="r"))
    text = "graph input `x` is read by the quantizers `q` and `r`, which differ; quantize the input once"
    assert message(ModelError, model) == text


def test_input_that_is_moved_before_its_channels_are_quantized():
    file = File(x=(3, 4))
    model = file.model(file.quant(file.node("Transpose", "x", perm=[0, 2, 1]), [-4, -3, -2], name="q"))
    text = (
        "node `q` (qonnx.custom_op.general::Quant): the scale must be one number, "
        "because graph input `x` is moved before it is quantized"
    )
    assert message(FormatError, model) == text


MOVES = "moves data between samples or moves the batch away from axis 0"
SHAPES = {
    "reshape-merges": (one("Reshape", i(-1, 4)), f"a Reshape of [batch, 3, 4] to [-1, 4] {MOVES}"),
    "reshape-splits": (one("Reshape", i(0, 24)), f"a Reshape of [batch, 3, 4] to [0, 24] {MOVES}"),
    "reshape-drops-the-batch": (one("Reshape", i(12)), f"a Reshape to [12] {MOVES}"),
    "reshape-two-inferred": (one("Reshape", i(-1, -1)), f"a Reshape to [-1, -1] {MOVES}"),
    "reshape-zero": (one("Reshape", i(0, 12), allowzero=1), f"a Reshape to [0, 12] {MOVES}"),
    "reshape-copies-nothing": (
        one("Reshape", i(0, 12, 1, 0)),
        "entry 3 of the shape is 0 and copies an axis that x does not have",
    ),
    "flatten": (one("Flatten", axis=0), f"`axis` must be 1, not 0: a Flatten there {MOVES}"),
    "flatten-inner": (one("Flatten", axis=2), f"`axis` must be 1, not 2: a Flatten there {MOVES}"),
    "transpose": (one("Transpose", perm=[1, 0, 2]), "`perm` must keep axis 0, the batch, in place, not (1, 0, 2)"),
    "transpose-default": (one("Transpose"), "`perm` must keep axis 0, the batch, in place, not (2, 1, 0)"),
    "concat": (one("Concat", axis=0), "`axis` must be in 1..2, not 0; axis 0 is the batch"),
    "slice-batch": (one("Slice", i(0), i(3), i(0)), "axis 0, the batch, cannot be sliced"),
    "slice-nothing": (one("Slice", i(2), i(2), i(1)), "a slice of 2..2 leaves nothing of axis 1 of 3"),
    "squeeze": (one("Squeeze", i(0)), "the axes [0] of [batch, 3, 4] must be of size 1 and not the batch"),
    "squeeze-wide": (one("Squeeze", i(1)), "the axes [1] of [batch, 3, 4] must be of size 1 and not the batch"),
    "unsqueeze": (one("Unsqueeze", i(0)), "the axes [0] must differ, and none may be in front of the batch"),
    "pad-batch": (one("Pad", i(1, 0, 0, 0, 0, 0)), "axis 0, the batch, cannot be padded"),
    "add-shape": (
        one("Add", np.ones((3, 3, 4), np.float32)),
        "the constant `k0` of the shape (3, 3, 4) does not broadcast against (batch, 3, 4)",
    ),
    "gain-of-two-axes": (
        one("Mul", np.full((3, 4), 2, np.float32)),
        "the gain must be one number, or one for each index of one axis, not of the shape (3, 4)",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name):
    model, text = SHAPES[name]
    (node,) = [node for node in model.graph.node if node.name == "n"]
    assert message(ShapeError, model) == f"node `n` ({node.op_type}): {text}"


OPTIONS = {
    "clip-beside-the-grid": (
        one("Clip", f(0.1)),
        FormatError,
        "a bound must lie on the scale of x: 0.10000000149011612 does not lie on the grid 2^-4",
    ),
    "clip-shape": (
        one("Clip", np.ones(2, np.float32)),
        UnsupportedOpError,
        "a bound must be one number, not of the shape (2,)",
    ),
    "gain": (one("Mul", f(3)), FormatError, "the gain must be a power of two, not 3.0"),
    "negative-gain": (one("Mul", f(-2)), FormatError, "the gain must be a power of two, not -2.0"),
    "slice-step": (one("Slice", i(2), i(0), i(1), i(0)), ShapeError, "a step must not be 0"),
    "slice-lengths": (
        one("Slice", i(2), i(0, 1), i(1)),
        ShapeError,
        "there must be as many starts as ends, axes and steps",
    ),
    "pad-mode": (one("Pad", i(0, 0, 0, 0, 0, 1), mode="edge"), UnsupportedOpError, "`mode` must be constant, not edge"),
    "pad-cuts": (one("Pad", i(0, 0, 0, 0, 0, -1)), UnsupportedOpError, "pads must be at least 0; use a Slice to cut"),
    "pad-value": (
        one("Pad", i(0, 0, 0, 0, 0, 1), f(0.1)),
        FormatError,
        "the padding must lie on the scale of x: 0.10000000149011612 does not lie on the grid 2^-4",
    ),
    "add": (
        one("Add", f(0.1)),
        FormatError,
        "the constant `k0` must be quantized on the grid of what it meets: 0.10000000149011612 does not lie on the grid 2^-4",
    ),
    "pool-window": (
        one("MaxPool", shape=(1, 4, 4), kernel_shape=[2]),
        ShapeError,
        "`kernel_shape` must be two ints, not (2,)",
    ),
    "pool-pads": (
        one("MaxPool", shape=(1, 4, 4), kernel_shape=[2, 2], pads=[1, 1]),
        ShapeError,
        "`pads` must be 4 ints, not (1, 1)",
    ),
    "pool-ceil": (
        one("MaxPool", shape=(1, 4, 4), kernel_shape=[2, 2], ceil_mode=1),
        UnsupportedOpError,
        "`ceil_mode` must be 0; pad the input instead",
    ),
    "pool-auto": (
        one("MaxPool", shape=(1, 4, 4), kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
        UnsupportedOpError,
        "`auto_pad` must be NOTSET or VALID, not SAME_UPPER; state the pads",
    ),
    "average-pads": (
        one("AveragePool", shape=(1, 4, 4), kernel_shape=[2, 2], pads=[1, 1, 1, 1]),
        UnsupportedOpError,
        "`count_include_pad` must be 1 where there are pads, so that every window has the same area",
    ),
    "mean-axes": (
        one("ReduceMean", i(1), shape=(1, 4, 4)),
        UnsupportedOpError,
        "only the last two of four axes can be averaged, not the axes [1] of 4",
    ),
    "cast": (
        one("Cast", to=7),
        UnsupportedOpError,
        "an activation can only be cast to a float type; a Quant says how it is rounded",
    ),
    "threshold": (
        one("SoftThreshold", f(-0.5), domain="org.mfsim"),
        FormatError,
        "the threshold must be at least 0, not -0.5",
    ),
    "threshold-grid": (
        one("SoftThreshold", f(0.1), domain="org.mfsim"),
        FormatError,
        "the threshold `k0` must be quantized on the grid of what it meets: 0.10000000149011612 does not lie on the grid 2^-4",
    ),
    "accumulator": (
        one("Accumulator", f(0.5), f(8), domain="org.mfsim", overflow="wrap", signed=1),
        FormatError,
        "the scale must be that of the sum, 2^-4, not 2^-1",
    ),
    "accumulator-bits": (
        one("Accumulator", f(2**-4), f(64), domain="org.mfsim", overflow="wrap", signed=1),
        FormatError,
        "the bit width must be an integer in 2..63, not 64",
    ),
    "table-scale": (
        one("Table", f(0.5), i(1, 2), i(0), f(1), domain="org.mfsim"),
        FormatError,
        "the scale of x must be 2^-4, not 2^-1",
    ),
    "table-entries": (
        one("Table", f(2**-4), np.array([0.5, 1], np.float32), i(0), f(1), domain="org.mfsim"),
        FormatError,
        "the table must hold integers, not 0.5",
    ),
    "constant-operand": (
        one("MatMul", np.ones((4, 2), np.float32)),
        ModelError,
        "the weights must come from a Quant, not from the constant `k0`",
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_option(name):
    model, error, text = OPTIONS[name]
    (node,) = [node for node in model.graph.node if node.name == "n"]
    shown = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    assert message(error, model) == f"node `n` ({shown}): {text}"


def test_quotient_of_two_activations():
    file = File(x=(4,))
    x = file.quant("x")
    assert message(UnsupportedOpError, file.model(file.node("Div", x, x, name="n"))) == (
        "node `n` (Div): two activations are divided, which no op of the program does"
    )


def test_op_with_two_outputs():
    model = one("MaxPool", shape=(1, 4, 4), kernel_shape=[2, 2])
    model.graph.node[-1].output.append("indices")
    assert message(UnsupportedOpError, model) == "node `n` (MaxPool): only one output is supported, not 2"


def test_computing_with_the_batch_size():
    file = File(x=(6,))
    size = file.node("Shape", "x", start=0, end=1)
    twice = file.node("Mul", size, file.constant([2], dtype=np.int64), name="n")
    shape = file.node("Concat", twice, file.constant([3], dtype=np.int64), axis=0)
    model = file.model(file.node("Reshape", file.quant("x"), shape))
    assert (
        message(UnsupportedOpError, model)
        == "node `n` (Mul) computes with the batch size, which is not part of a program"
    )


def test_error_of_an_op_names_the_node_and_its_inputs():
    """12 is no power of two."""
    text = (
        "node `n` (wht) of `x` (1, 12) s8: the length of a Walsh-Hadamard transform must be a power of two, not 12; "
        "pad the axis or choose a block"
    )
    assert message(ShapeError, one("WHT", shape=(12,), domain="org.mfsim")) == text


def test_area_of_a_mean():
    with pytest.raises(MfsimError, match=r"^node `n` \(sum_pool2d\) of `x` \(1, 1, 3, 3\) s8: .*power of two"):
        compile_model(one("GlobalAveragePool", shape=(1, 3, 3)))
