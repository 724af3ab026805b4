"""One Walsh-Hadamard layer followed through every step, with a look at the integers.

A `WHTLayer` transforms, thresholds, takes an MF inner product, transforms back and adds its input. It
is quantized to 8 bits, exported, compiled and simulated; torch, ONNX Runtime and the simulator give the
same codes.
"""

from __future__ import annotations

import pathlib
import tempfile

import numpy as np
import torch
from torch import nn

import mfsim
from mfsim.export import run, session
from mfsim.nn import WHTLayer


def main(folder: pathlib.Path) -> None:
    """Do the steps in `folder`."""
    torch.manual_seed(0)
    network = nn.Sequential(WHTLayer(16, layout="features", norm=False))
    vectors = torch.randn(256, 16)

    quantized = mfsim.quantize(network, vectors, {"weight": 8, "activation": 8})
    path = mfsim.export(quantized, folder / "layer.onnx")
    program = mfsim.load(path)
    for node in program.nodes:
        (tensor,) = program.outputs_of(node)
        print(f"{node.layer:14} {node.op:15} {tensor.format!s:5} {tensor.range.low:7}..{tensor.range.high}")

    codes = mfsim.simulate(program, vectors.numpy()).output
    scale = program.tensors[program.outputs[0]].scale
    with torch.no_grad():
        in_torch = quantized(vectors).numpy()
    (in_runtime,) = run(session(path), vectors.numpy()).values()
    assert np.array_equal(np.ldexp(codes.astype(np.float64), scale.exponent), in_torch)
    assert np.array_equal(in_torch, in_runtime)
    print(f"{codes.size} codes are equal in torch, in ONNX Runtime and in the simulator")

    report = mfsim.strict_multiplication_free(program)
    print("operations of one vector:", {name: count for name, count in report.by_primitive().items() if count})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(name))
