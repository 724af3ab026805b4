"""Write small files as other tools do (QONNX, QCDQ, QLinear), and compare their programs with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from mfsim.compiler import compile_model
from mfsim.ir.program import Program
from mfsim.parity.file_error import OutputError, measure
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from tests.compiler.files import QONNX, File

OPSET = 20


class ThirdParty(File):
    """A file without the domain of mfsim; `kind` is the type of its inputs."""

    kind = TensorProto.FLOAT

    def quant(self, x, scale=0.0625, bits=8, signed=1, narrow=0, rounding_mode="ROUND", zero_point=0.0, **options):
        """Quant with any scale."""
        parameters = [self.constant(v) for v in (scale, zero_point, bits)]
        attributes = {"signed": signed, "narrow": narrow, "rounding_mode": rounding_mode}
        return self.node("Quant", x, *parameters, domain=QONNX, **attributes, **options)

    def weights(self, values, scale=0.125, bits=4, narrow=1, **options):
        return self.quant(self.constant(values), scale, bits, narrow=narrow, **options)

    def codes(self, x, scale=0.0625, zero_point=0, kind=np.int8, **options):
        """QuantizeLinear; return the codes and the names of scale and zero point."""
        parameters = [self.constant(scale), self.constant(zero_point, dtype=kind)]
        return self.node("QuantizeLinear", x, *parameters, **options), parameters

    def qdq(self, x, scale=0.0625, zero_point=0, kind=np.int8, clip=None, **options):
        """QuantizeLinear, perhaps Clip, DequantizeLinear."""
        codes, parameters = self.codes(x, scale, zero_point, kind, **options)
        if clip:
            codes = self.node("Clip", codes, *[self.constant(end, dtype=kind) for end in clip])
        return self.node("DequantizeLinear", codes, *parameters, **options)

    def stored(self, codes, scale, zero_point=0, kind=np.int8, **options):
        """DequantizeLinear of stored weights."""
        parameters = [self.constant(codes, dtype=kind), self.constant(scale), self.constant(zero_point, dtype=kind)]
        return self.node("DequantizeLinear", *parameters, **options)

    def model(self, *outputs, batch="batch", opset=OPSET, kinds=None, **opsets):
        kinds = kinds or {}
        graph = helper.make_graph(
            self.nodes,
            "network",
            [
                helper.make_tensor_value_info(k, kinds.get(k, self.kind), [batch, *shape])
                for k, shape in self.inputs.items()
            ],
            [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None) for name in outputs],
            self.constants,
        )
        domains = {"": opset} | {node.domain: 1 for node in self.nodes if node.domain} | opsets
        imports = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10 if opset > 12 else 6)


def measured(model: onnx.ModelProto, feeds: dict | np.ndarray, **options) -> tuple[Program, list[OutputError]]:
    """Return the program of a file, read back from integer.onnx, and its error against ONNX Runtime."""
    program = compile_model(model, **options)
    again = read_integer(integer_model(program))
    assert again.digest() == program.digest()
    return again, measure(model, again, feeds)


def assert_exact(model: onnx.ModelProto, feeds: dict | np.ndarray, **options) -> Program:
    """Fail unless every code of every output is that of ONNX Runtime."""
    program, errors = measured(model, feeds, **options)
    for error in errors:
        assert error.compared > 0
        assert error.different == 0, str(error)
    return program


def reals(shape, count=64, seed=0, spread=6.0, step=0.0625) -> np.ndarray:
    """Return random float32 values, ties of a grid of `step` and the ends among them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, spread / 2, (count, *shape))
    ties = (np.floor(values / step) + 0.5) * step
    values = np.where(rng.random(values.shape) < 0.3, ties, values)
    values[0], values[1], values[2] = spread * 3, -spread * 3, 0
    return values.astype(np.float32)
