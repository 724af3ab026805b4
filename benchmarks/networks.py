"""Whole networks for images of 3 x 32 x 32, and the peers that run them.

A network of dense products has a QCDQ file: ONNX Runtime's own quantizer gives its float.onnx 8-bit activations and
weights, and its optimiser makes QLinearConv and QLinearMatMul of that. The others have the one file, model.onnx,
which ONNX Runtime runs by the bodies of its functions.
"""

from __future__ import annotations

import functools
import logging
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import inliner
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from mfsim.compiler import compile_model
from mfsim.export import float_model, quantized_model, write_integer
from mfsim.ir.program import Program
from mfsim.nn import models
from mfsim.quant import QuantizedNetwork, Recipe, fold, quantize
from mfsim.simulate import Simulator, dequantized

SHAPE = (3, 32, 32)
BATCH = 32
"""Images that a peer takes at a time."""
SETTLING = 30
"""Batches that give the batch norms their statistics."""
QCDQ = {"dense-cnn": quantization.QuantType.QInt8, "mini-vit": quantization.QuantType.QUInt8}
"""The networks that have a QCDQ file, and the type of its activations, that with which ONNX Runtime is quicker."""
NAMES = (*QCDQ, "mf-vit", "wht-cnn", "mf-cnn")
INTEGER_KERNELS = {"QLinearConv", "QLinearMatMul", "QGemm", "MatMulInteger"}


@dataclass(frozen=True, eq=False)
class Network:
    """One network in every form: `folder` has NAME.onnx, its integer.onnx."""

    name: str
    folder: pathlib.Path
    quantized: QuantizedNetwork
    float_file: onnx.ModelProto
    file: onnx.ModelProto
    program: Program
    simulator: Simulator

    @property
    def integer_path(self) -> pathlib.Path:
        """The path of integer.onnx."""
        return self.folder / f"{self.name}.onnx"


def images(count: int) -> np.ndarray:
    """Return float32 [count, 3, 32, 32]: noise, the first ones always the same."""
    return np.random.default_rng(0).standard_normal((count, *SHAPE)).astype(np.float32).clip(-2, 2)


@functools.cache
def network(name: str, folder: pathlib.Path, **options: int) -> Network:
    """Return a built-in network of 8 bits with its first weights; `options` are those of the model."""
    torch.set_num_threads(1)
    made, example = models.create(name, SHAPE, seed=0, **options), torch.zeros(2, *SHAPE)
    seen = torch.from_numpy(images(64))
    made.train()
    with torch.no_grad():
        for _ in range(SETTLING):
            made(seen)
    folded = fold(made.eval(), example).eval()
    quantized = quantize(folded, Recipe(), seen).eval()
    file = quantized_model(quantized, example, allow_inexact=True)
    program = compile_model(file)
    found = Network(name, folder, quantized, float_model(folded, example), file, program, Simulator(program))
    write_integer(found.program, found.integer_path)
    return found


def simulated(network: Network, values: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return the codes of `values`, real images; the simulator chooses its own batches."""
    return network.simulator.run(values, threads=threads).output


def real(network: Network, codes: np.ndarray) -> np.ndarray:
    """Return what output codes mean."""
    (name,) = network.program.outputs
    return dequantized(network.program, {name: codes})[name]


def session(file: onnx.ModelProto, threads: int = 1, optimised: pathlib.Path | None = None) -> Callable:
    """Return a function from images to outputs that runs `file` in ONNX Runtime, optimised as far as it can.

    Its threads stop waiting for work when a run ends, so that they take no time from what runs next.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if optimised is not None:
        options.optimized_model_filepath = str(optimised)
    made = onnxruntime.InferenceSession(file.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = made.get_inputs()[0].name

    def run(values: np.ndarray) -> np.ndarray:
        return np.concatenate([made.run(None, {name: values[k : k + BATCH]})[0] for k in range(0, len(values), BATCH)])

    return run


class _Calibration(quantization.CalibrationDataReader):
    def __init__(self, name: str) -> None:
        self.feeds = iter([{name: images(64)}])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.feeds, None)


@functools.cache
def qcdq(network: Network) -> onnx.ModelProto:
    """Return the QCDQ file of a network that has one; ONNX Runtime must run its products in integers."""
    plain, ready, path = (network.folder / f"{network.name}-{kind}.onnx" for kind in ("float", "ready", "qcdq"))
    onnx.save(inliner.inline_local_functions(network.float_file), plain)
    logging.disable(logging.WARNING)
    try:
        quant_pre_process(plain, ready, skip_symbolic_shape=True)
        quantization.quantize_static(
            ready,
            path,
            _Calibration(network.float_file.graph.input[0].name),
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=QCDQ[network.name],
            weight_type=quantization.QuantType.QInt8,
        )
    finally:
        logging.disable(logging.NOTSET)
    file, optimised = onnx.load(path), network.folder / f"{network.name}-optimised.onnx"
    session(file, optimised=optimised)
    kinds = [node.op_type for node in onnx.load(optimised).graph.node]
    assert not {"Conv", "MatMul", "Gemm"} & set(kinds), f"ONNX Runtime keeps float products in {network.name}"
    assert INTEGER_KERNELS & set(kinds)
    return file


def in_torch(network: Network) -> Callable:
    """Return a function from images to outputs: Brevitas' evaluation of the quantized network."""

    def run(values: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            parts = [network.quantized(torch.from_numpy(values[k : k + BATCH])) for k in range(0, len(values), BATCH)]
        return torch.cat(parts).numpy()

    return run
