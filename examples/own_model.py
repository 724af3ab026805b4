"""A model of one's own through every step, from a torch module to counted integers.

The steps are those of the command line, which takes the same model as `--model own_model:network`:
train, quantize, export, check, compile, simulate, count, report.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

from torch import nn

from mfsim.nn import MFLinear, ShiftBatchNorm1d, WHTLayer
from mfsim.quant import Recipe
from mfsim.workflow.settings import Settings
from mfsim.workflow.steps import run_network


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
    recipe = Recipe.from_dict({"weight": 8, "activation": 8})
    settings = Settings(epochs=epochs, quantized_epochs=2)
    result = run_network(folder, "own_model:network", "digits", settings, recipe=recipe)
    print("accuracy:", result.accuracy)
    print("operations of one sample:", result.counts.by_primitive())
    for pair in result.parity:
        print(f"{pair.name}: {pair.mismatches} of {pair.compared} codes differ")
    assert result.bit_exact
    assert result.multiplications == 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    with tempfile.TemporaryDirectory() as name:
        main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else name), *map(int, sys.argv[2:]))
