"""The node of an op in an exported file, with its body, run by stock ONNX Runtime on values = codes * scale.

Compared exactly with the reference, optimisations on and off, wherever float32 is exact; a case past
2**24 and one that ONNX has no node for are left out, and each op must have cases that are not (test_declared.py).
"""

from __future__ import annotations

import functools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mfsim import ops
from mfsim.export.exactness import EXACT, float32_exact
from mfsim.export.runtime import session
from mfsim.ir.program import Node, Program, Tensor
from mfsim.ops.model_bodies import DOMAINS, OPSET, bodies
from tests.conformance.normaliser_forms import ONNX_FORMS

MFSIM, QONNX = DOMAINS
MODES = {"half_even": "ROUND", "half_away": "HALF_UP", "floor": "FLOOR", "ceil": "CEIL", "toward_zero": "ROUND_TO_ZERO"}
"""Rounding rules in QONNX's words; half_up has none."""


def values_of(codes: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return float32 values of codes [batch, ...] of an activation, or of a constant."""
    scale = np.ldexp(1.0, np.array(tensor.scale.exponents))
    if tensor.scale.axis is not None:
        scale = scale.reshape([-1 if k == tensor.scale.axis else 1 for k in range(len(tensor.shape))])
    values = (codes.astype(np.float64) * scale).astype(np.float32)
    assert np.array_equal(values.astype(np.float64), codes * scale), f"{tensor.name} has codes that are no float32"
    return values


class Form:
    """Collects nodes and constants, and makes the model."""

    def __init__(self, program: Program) -> None:
        (self.node,) = program.nodes
        self.program = program
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def input(self, k: int) -> str:
        tensor = self.program.tensors[self.node.inputs[k]]
        return self.constant(values_of(tensor.codes, tensor)) if tensor.is_constant else tensor.name

    def add(self, op: str, inputs: list[str], domain: str = "", **attributes: object) -> str:
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def model(self, result: str) -> onnx.ModelProto:
        def value(name, tensor):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *tensor.shape[1:]])

        inputs = [value(name, self.program.tensors[name]) for name in self.program.inputs]
        output = value(result, self.program.tensors[self.program.outputs[0]])
        graph = helper.make_graph(self.nodes, "form", inputs, [output], self.constants)
        used = {(node.domain, node.op_type) for node in self.nodes if node.domain}
        return helper.make_model(
            graph,
            ir_version=10,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                *(helper.make_opsetid(d, DOMAINS[d]) for d, _ in sorted(used)),
            ],
            functions=[bodies()[key] for key in sorted(used)],
        )


def model_of(program: Program) -> onnx.ModelProto | str:
    """Return the float model of a one-node program, or why ONNX has no such node."""
    form = Form(program)
    result = FORMS[form.node.op](form, form.node, [program.tensors[name] for name in form.node.inputs])
    return result if result.startswith("no ") else form.model(result)


def _inputs(form: Form) -> list[str]:
    return [form.input(k) for k in range(len(form.node.inputs))]


def _plain(op: str):
    return lambda form, node, tensors: form.add(op, _inputs(form))


def _product(op: str, domain: str, *names: str):
    def build(form: Form, node: Node, tensors: list[Tensor]) -> str:
        attributes = {("group" if name == "groups" else name): node.attributes[name] for name in names}
        x, w, *bias = _inputs(form)
        y = form.add(op, [x, w], domain, **attributes)
        if not bias:
            return y
        axes = form.constant(np.array([1, 2], dtype=np.int64))
        return form.add("Add", [y, form.add("Unsqueeze", [bias[0], axes]) if "pads" in names else bias[0]])

    return build


def _along(values: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    return values.reshape(-1, *[1] * (ndim - 1 - axis)) if axis >= 0 else values


def _accumulator(form, node, tensors):
    scale = np.ldexp(np.float32(1), np.array(tensors[0].scale.exponents)).astype(np.float32)
    axis = tensors[0].scale.axis
    scale = _along(scale, -1 if axis is None else axis, len(tensors[0].shape))
    inputs = [form.input(0), form.constant(scale), form.constant(np.float32(node.attributes["bits"]))]
    return form.add(
        "Accumulator", inputs, MFSIM, overflow=node.attributes["overflow"], signed=node.attributes["signed"]
    )


def _clip(form, node, tensors):
    if tensors[0].scale.axis is not None:
        return "no bounds by channel"
    unit = 2.0 ** tensors[0].scale.exponent
    ends = [form.constant(np.float32(node.attributes[name] * unit)) for name in ("lo", "hi")]
    return form.add("Clip", [form.input(0), *ends])


def _csd_gain(form, node, tensors):
    x, c = tensors
    gain = _along(values_of(c.codes, c), node.attributes["axis"] if c.codes.size > 1 else -1, len(x.shape))
    return form.add("CsdGain", [form.input(0), form.constant(gain)], MFSIM, digits=node.attributes["digits"])


def _gram(form, node, tensors):
    return form.add("Gram", _inputs(form), MFSIM)


def _pad(form, node, tensors):
    if tensors[0].scale.axis is not None and node.attributes["value"]:
        return "no values by channel"
    value = node.attributes["value"] * 2.0 ** tensors[0].scale.exponents[0]
    pads = form.constant(np.array(node.attributes["pads"], dtype=np.int64))
    return form.add("Pad", [form.input(0), pads, form.constant(np.float32(value))])


def _requantize(form, node, tensors):
    attributes = node.attributes
    if attributes["rounding"] not in MODES or attributes["overflow"] == "wrap":
        return "no such rounding or overflow in QONNX"
    (output,) = form.program.outputs_of(node)
    scale = np.ldexp(np.float32(1), np.array(output.scale.exponents)).astype(np.float32)
    axis = output.scale.axis
    scale = _along(scale, -1 if axis is None else axis, len(output.shape)) if axis is not None else scale[0]
    inputs = [
        form.input(0),
        form.constant(scale),
        form.constant(np.float32(0)),
        form.constant(np.float32(attributes["bits"])),
    ]
    return form.add(
        "Quant",
        inputs,
        QONNX,
        signed=attributes["signed"],
        narrow=attributes["narrow"],
        rounding_mode=MODES[attributes["rounding"]],
    )


def _shift(form, node, tensors):
    gain = np.ldexp(np.float32(1), np.array(node.attributes["exponents"])).astype(np.float32)
    return form.add(
        "Shift", [form.input(0), form.constant(_along(gain, node.attributes["axis"], len(tensors[0].shape)))], MFSIM
    )


def _sign(form, node, tensors):
    return "no sign with +1 for 0" if node.attributes["sign_zero"] else form.add("Sign", [form.input(0)])


def _slice(form, node, tensors):
    ends = list(node.attributes["ends"])
    for k, step in enumerate(node.attributes["steps"]):
        if step < 0 and ends[k] < 0:
            ends[k] = -(2**31)  # in ONNX an end of -1 is the last entry, not the place before the first
    given = [node.attributes["starts"], ends, node.attributes["axes"], node.attributes["steps"]]
    return form.add("Slice", [form.input(0), *(form.constant(np.array(values, dtype=np.int64)) for values in given)])


def _soft_threshold(form, node, tensors):
    thresholds = values_of(tensors[1].codes, tensors[1])
    axis = node.attributes["axis"] % len(tensors[0].shape)
    shape = _along(thresholds, axis if thresholds.size > 1 else -1, len(tensors[0].shape))
    return form.add("SoftThreshold", [form.input(0), form.constant(shape)], MFSIM)


def _table(form, node, tensors):
    x, table = tensors
    values = [np.float32(2.0**x.scale.exponent), np.array(table.codes), np.int64(node.attributes["first"])]
    constants = [form.constant(v) for v in (*values, np.float32(2.0**table.scale.exponent))]
    return form.add("Table", [form.input(0), *constants], MFSIM)


def _embedding(form, node, tensors):
    numbers = form.add("Cast", [form.input(0)], to=TensorProto.INT64)
    return form.add("Gather", [form.input(1), numbers])


def _root_norm(op: str):
    def build(form, node, tensors):
        (output,), attributes = form.program.outputs_of(node), node.attributes
        x, gamma = tensors[:2]
        inputs = [form.input(0), form.constant(np.float32(2.0**x.scale.exponent))]
        inputs += [form.input(1), form.constant(np.float32(2.0**gamma.scale.exponent))]
        inputs += [form.input(2)] if len(tensors) > 2 else []
        inputs += [form.constant(np.int64(attributes["eps"])), form.constant(np.int64(1 << attributes["guard"]))]
        if "reciprocal" in attributes:
            inputs.append(form.constant(np.int64(1 << attributes["reciprocal"])))
        return form.add(op, [*inputs, form.constant(np.float32(2.0**output.scale.exponent))], MFSIM)

    return build


def _shift_norm(op: str):
    def build(form, node, tensors):
        x, thresholds, _ = tensors
        (output,) = form.program.outputs_of(node)
        gains = np.array([1 << g + 8 for g in node.attributes["exponents"]], dtype=np.int64)
        scales = [form.constant(np.float32(2.0**tensor.scale.exponent)) for tensor in (x, output)]
        middle = [form.constant(gains), form.input(2), form.constant(np.array(thresholds.codes))]
        return form.add(op, [form.input(0), scales[0], *middle, scales[1]], MFSIM)

    return build


def _pool(form, node, tensors):
    attributes = node.attributes
    window = {"kernel_shape": attributes["kernel"], "strides": attributes["strides"], "pads": attributes["pads"]}
    if node.op == "max_pool2d" and any(
        pad >= window["kernel_shape"][k % 2] for k, pad in enumerate(attributes["pads"])
    ):
        return "no padding as wide as the kernel in ONNX Runtime"
    if node.op == "max_pool2d":
        return form.add("MaxPool", [form.input(0)], dilations=attributes["dilations"], **window)
    if not attributes["mean"]:
        return "no sum without division"
    return form.add("SumPool", [form.input(0)], MFSIM, **window)


def _concat(form, node, tensors):
    return form.add("Concat", _inputs(form), axis=node.attributes["axis"])


def _reshape(form, node, tensors):
    shape = form.constant(np.array([-1, *node.attributes["shape"]], dtype=np.int64))
    return form.add("Reshape", [form.input(0), shape])


def _transpose(form, node, tensors):
    return form.add("Transpose", [form.input(0)], perm=node.attributes["perm"])


def _own(form, node, tensors):
    """Return the node that the op's signature states, whose inputs are those of the op."""
    signature = ops.get(node.op).onnx
    attributes = {name: node.attributes[name] for name in signature.attributes}
    return form.add(signature.op_type, _inputs(form), MFSIM, **attributes)


MF = ("form", "sign_zero", "grid")
WINDOW = ("strides", "pads", "dilations", "groups")
FORMS = {
    "abs": _plain("Abs"),
    "accumulator": _accumulator,
    "add": _plain("Add"),
    "adder_conv2d": _product("AdderConv", MFSIM, *WINDOW),
    "adder_matmul": _product("AdderMatMul", MFSIM),
    "clip": _clip,
    "concat": _concat,
    "conv2d": _product("Conv", "", *WINDOW),
    "csd_gain": _csd_gain,
    "embedding": _embedding,
    "flatten": _plain("Flatten"),
    "gram": _gram,
    "layer_norm": _root_norm("LayerNorm"),
    "layer_norm_recip": _root_norm("LayerNormRecip"),
    "matmul": _product("MatMul", ""),
    "max_pool2d": _pool,
    "mf_conv2d": _product("MFConv", MFSIM, *MF, *WINDOW),
    "mf_matmul": _product("MFMatMul", MFSIM, *MF),
    "min_conv2d": _product("MinConv", MFSIM, *WINDOW),
    "min_matmul": _product("MinMatMul", MFSIM),
    "mul": _plain("Mul"),
    "neg": _plain("Neg"),
    "pad": _pad,
    "relu": _plain("Relu"),
    "requantize": _requantize,
    "reshape": _reshape,
    "rms_norm": _root_norm("RMSNorm"),
    "rms_norm_recip": _root_norm("RMSNormRecip"),
    "shift": _shift,
    "shift_conv2d": _product("ShiftConv", MFSIM, *WINDOW),
    "shift_matmul": _product("ShiftMatMul", MFSIM),
    "shift_norm_l1": _shift_norm("ShiftNormL1"),
    "shift_norm_l2": _shift_norm("ShiftNormL2"),
    "sign": _sign,
    "slice": _slice,
    "soft_threshold": _soft_threshold,
    "sub": _plain("Sub"),
    "sum_pool2d": _pool,
    "table": _table,
    "transpose": _transpose,
    **ONNX_FORMS,
}
FORMS |= {op.name: _own for op in ops.REGISTRY.values() if op.signature and op.name not in FORMS}
"""By op; where a signature says it all, it is enough."""


def exact(program: Program) -> bool:
    """Return whether float32 holds every code and every partial sum."""
    (node,) = program.nodes
    return float32_exact(node, program) and all(t.range.bound <= EXACT for t in program.inputs_of(node))


def runnable_model(given) -> onnx.ModelProto | None:
    """Return the model of a case if it can be compared."""
    if "onnx" not in given.op.realisations or not exact(given.program):
        return None
    model = model_of(given.program)
    return None if isinstance(model, str) else model


def checks(given):
    model = runnable_model(given)
    if model is not None:
        yield "model.onnx", lambda given: onnx.checker.check_model(model, full_check=True)
        for optimised in (False, True):
            yield (
                f"model.onnx, {'' if optimised else 'not '}optimised",
                functools.partial(check, model=model, optimised=optimised),
            )


def check(given, model, optimised):
    (output,), (codes,) = given.outputs, given.expected
    expected = values_of(codes, output)
    feeds = {
        name: values_of(array, given.program.tensors[name])
        for name, array in zip(given.program.inputs, given.arrays, strict=True)
    }
    opened = session(model, optimised)
    (found,) = opened.run(None, feeds)
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    different = np.argwhere(found != expected)
    assert not len(different), f"{len(different)} values differ, first at {different[0]}"
    (empty,) = opened.run(None, {name: values[:0] for name, values in feeds.items()})
    assert empty.shape == (0, *expected.shape[1:])
