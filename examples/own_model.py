"""A model of one's own through every step, from a torch module to counted integers.

The steps are those of the command line, which takes the same model as `--model own_model:network`. There, and by
`mfsim.run_network`, they share a run folder; here each is a call.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

import torch
from torch import nn

import mfsim
from mfsim.data import load
from mfsim.nn import MFLinear, ShiftBatchNorm1d, WHTLayer


def network() -> nn.Module:
    """Return a small network of WHT layers and MF products for images of 8 x 8."""
    return nn.Sequential(
        nn.Flatten(),
        MFLinear(64, 64),
        ShiftBatchNorm1d(64),
        nn.ReLU(),
        WHTLayer(64, layout="features"),
        nn.ReLU(),
        MFLinear(64, 10),
    )


def main(folder: pathlib.Path, epochs: int = 8) -> None:
    """Run every step in `folder` and print what came out."""
    digits = load("digits")
    torch.manual_seed(0)
    model = mfsim.train(network(), digits, epochs=epochs)
    quantized = mfsim.quantize(model, digits, {"weight": 8, "activation": 8}, epochs=2)
    mfsim.export(quantized, folder / "model.onnx")
    checked = mfsim.check(quantized, folder / "model.onnx", digits, float_model=model)
    print(checked)
    program = mfsim.load(folder / "model.onnx")
    result = mfsim.simulate(program, digits.test.images, observe=True)
    print(f"{(result.output.argmax(1) == digits.test.labels).mean():.2%} of the test images are classified correctly")
    print(mfsim.strict_multiplication_free(program))
    print(mfsim.widths(program, result))
    print("report:", mfsim.report({"own model": program}, folder / "report"))
    assert checked.passed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else name), *map(int, sys.argv[2:]))
