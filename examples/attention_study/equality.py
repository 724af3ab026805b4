"""Compare all realisations of every attention preset in the study's transformer, trained for a moment.

    python examples/attention_study/equality.py --out equality.md

Compared code by code on all test images: the quantized torch network, model.onnx and integer.onnx in ONNX
Runtime with optimisations on and off, the simulator, and for a few images the definition of each op. The
tables of the study compare torch and simulator only, on networks that were trained to the end.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence

import numpy as np
import point
import torch

from mfsim import compare_realisations, quant
from mfsim.analysis.listing import write_text
from mfsim.errors import MfsimError, ParityError
from mfsim.quant import Recipe
from mfsim.simulate.values import classes
from mfsim.train import fit

REFERENCES = 2
"""Test images that are computed from the definitions of the ops, too."""
HEAD = "| unit | correct | codes compared | that differ |\n| --- | --: | --: | --: |"


def row(unit: str, setup: point.Setup) -> tuple[str, int]:
    """Return a unit's row of the table, and how many codes differ; `correct` is that of the integer program."""
    training, data = setup.training, setup.dataset
    model = point.network(unit, setup, seed=0)
    fit(
        model,
        data.train,
        data.validation,
        epochs=training.epochs,
        learning_rate=training.settings(unit)["rates"][0],
        batch_size=training.batch,
        seed=0,
    )
    folded = quant.fold(model, torch.from_numpy(data.train.images[:2])).eval()
    network = quant.quantize(folded, Recipe(), data.train.first(point.CALIBRATION).images)
    found = compare_realisations(network, data.test.images, references=REFERENCES, edges=False, threads=1)
    (codes,) = found.codes.values()
    correct = float(np.mean(classes(found.program, codes) == data.test.labels))
    return f"| `{unit}` | {correct:.2%} | {found.compared:,} | {found.differences:,} |", found.differences


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", default="digits", help="what mfsim train takes")
    parser.add_argument("--units", nargs="*", default=point.UNITS, choices=point.UNITS, metavar="UNIT")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--test", type=int, default=0, help="how many test images; all")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, help="a file for the table")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> None:
    """Compare the units that `given` asks for, print a table, and fail if a code differs."""
    options = arguments(given)
    torch.set_num_threads(1)
    changes = {name: getattr(options, name) for name in ("epochs", "test", "width", "depth")}
    setup = point.Setup.of("reduced", options.data, changes)
    lines, differing = [HEAD], []
    print(HEAD, flush=True)
    for unit in options.units:
        line, differences = row(unit, setup)
        print(line, flush=True)
        lines.append(line)
        differing += [unit] * (differences > 0)
    if options.out is not None:
        write_text(options.out, "\n".join(lines) + "\n")
    if differing:
        raise ParityError(f"codes differ in {', '.join(differing)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MfsimError as error:
        sys.exit(f"error: {error}")
