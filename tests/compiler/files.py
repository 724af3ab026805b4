"""Write small quantized ONNX files by hand, and compare their programs with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from mfsim.compiler import compile_model
from mfsim.ir.program import Program
from mfsim.ops.model_bodies import DOMAINS, OPSET, bodies
from mfsim.simulate import dequantized, quantize_input, simulate

QONNX, MFSIM = "qonnx.custom_op.general", "org.mfsim"


class File:
    """Collects nodes and constants; `model` returns the file, with a body for each op that needs one."""

    def __init__(self, **inputs):
        self.nodes, self.constants, self.inputs = [], [], inputs

    def constant(self, values, name: str = "", dtype=np.float32) -> str:
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def node(
        self, op: str, *inputs: str, domain: str = "", layer: str = "", output: str = "", name: str = "", **attributes
    ) -> str:
        number = len(self.nodes)
        output = output or f"t{number}"
        node = helper.make_node(
            op, list(inputs), [output], name=name or f"{op.lower()}{number}", domain=domain, **attributes
        )
        if layer:
            node.metadata_props.add(key="mfsim.layer", value=layer)
        self.nodes.append(node)
        return output

    def mf(self, op: str, *inputs: str, **attributes) -> str:
        return self.node(op, *inputs, domain=MFSIM, **attributes)

    def quant(
        self, x: str, exponent=-4, bits=8, signed=1, narrow=0, rounding_mode="ROUND", zero_point=0.0, **options
    ) -> str:
        parameters = [self.constant(v) for v in (np.exp2(np.asarray(exponent, dtype=np.float32)), zero_point, bits)]
        attributes = {"signed": signed, "narrow": narrow, "rounding_mode": rounding_mode}
        return self.node("Quant", x, *parameters, domain=QONNX, **attributes, **options)

    def weights(self, values, exponent=-3, bits=4, narrow=1, **options) -> str:
        return self.quant(self.constant(values), exponent, bits, narrow=narrow, **options)

    def model(self, *outputs: str, batch="batch", **opsets) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info(k, TensorProto.FLOAT, [batch, *shape]) for k, shape in self.inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.constants,
        )
        versions = {"": OPSET} | DOMAINS | opsets
        used = {(node.domain, node.op_type) for node in self.nodes}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(domain, version) for domain, version in versions.items()],
            functions=[body for key, body in bodies().items() if key in used],
        )
        model.ir_version = 10
        return model


def images(shape, count: int = 17, seed: int = 0, spread: float = 8.0) -> np.ndarray:
    """Return random values, with ties of the grid 2^-4 and the ends among them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, spread / 2, (count, *shape))
    ties = (np.floor(values * 16) + 0.5) / 16
    values = np.where(rng.random(values.shape) < 0.3, ties, values)
    values[0], values[1], values[2] = spread * 2, -spread * 2, 0
    return values.astype(np.float32)


def runtime(model: onnx.ModelProto, feeds: dict, names: list[str]) -> dict[str, np.ndarray]:
    """Return tensors of the file as ONNX Runtime computes them."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    shown.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, feeds), strict=True))


def assert_like_runtime(model: onnx.ModelProto, feeds: dict | np.ndarray) -> Program:
    """Fail unless every tensor of the program that the file has too is equal to ONNX Runtime's, and return the program.

    Tensors that the file has in front of the input's quantizer are left out.
    """
    program = compile_model(model)
    feeds = feeds if isinstance(feeds, dict) else {program.inputs[0]: feeds}
    real, written = set(program.inputs), set()
    for node in model.graph.node:
        behind = real.intersection(node.input) and node.op_type not in ("Quant", "Shape")
        (real if behind else written).update(node.output)
    names = [name for node in program.nodes for name in node.outputs if name in written]
    assert set(program.outputs) <= set(names)
    result = simulate(program, quantize_input(program, feeds), keep=names, threads=1)
    expected = runtime(model, feeds, names)
    for name, values in dequantized(program, result.kept).items():
        assert values.shape == expected[name].shape, f"{name}: {values.shape}, not {expected[name].shape}"
        different = (values != expected[name]).sum()
        assert not different, f"{name}: {different} of {values.size} values differ from ONNX Runtime"
    return program
