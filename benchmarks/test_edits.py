"""Another width of one layer in an opened model.onnx, and 16 images simulated, beside compiling from the file.

Compiling from the file is timed in this process, whose kernels are loaded, and in a process of its own, which
reads them from the cache. Each edit gives one layer a width that it has not had yet.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from benchmarks.networks import images
from benchmarks.rows import medians
from mfsim.compiler import compile_model
from mfsim.export import EditableModel, open_model
from mfsim.quant import Recipe
from mfsim.simulate import quantize_input, simulate

GROUP = "edits"
COUNT, ROUNDS, PROCESSES = 16, 15, 3
WIDTHS = (7, 6, 5, 9, 10, 4)
SHOWN = {"edit": "edit", "file": "file", "process": "file in its own process", "simulation": "simulation alone"}


def edits(opened: EditableModel) -> Iterator[Recipe]:
    """Yield recipes, each with another width of one layer's weights than the one before."""
    layers: dict[str, dict[str, int]] = {}
    for bits, path in itertools.product(WIDTHS, [path for path, keys in opened.keys.items() if "weight" in keys]):
        layers[path] = {"weight": bits}
        yield Recipe.from_dict({"layers": layers})


def editing(opened: EditableModel, values: np.ndarray) -> Callable[[], None]:
    """Return a function that edits one layer and simulates `values`."""
    recipes = edits(opened)

    def run() -> None:
        opened.set_formats(next(recipes))
        program = opened.program()
        simulate(program, quantize_input(program, values), threads=1)

    return run


@pytest.mark.parametrize("name", ["wht-cnn", "mini-vit"])
def test_edits(name, networks, record):
    network, values = networks(name), images(COUNT)
    path, pixels = (network.folder / f"{name}-edited{end}" for end in (".onnx", ".npy"))
    path.write_bytes(network.file.SerializeToString())
    np.save(pixels, values)

    def compiled() -> None:
        program = compile_model(path)
        simulate(program, quantize_input(program, values), threads=1)

    program = compile_model(path)
    codes = quantize_input(program, values)
    runs = {
        "edit": editing(open_model(path), values),
        "file": compiled,
        "simulation": lambda: simulate(program, codes, threads=1),
    }
    times = medians(runs, ROUNDS)
    command = [sys.executable, "-m", "benchmarks.edits", str(path), str(pixels)]
    fresh = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(PROCESSES + 1)]
    times["process"] = statistics.median(float(text) for text in fresh[1:])
    note = ", ".join(f"{what} {1e3 * times[key]:.1f} ms" for key, what in SHOWN.items())
    for key, where in (("file", "in one process"), ("process", "in a process of its own")):
        what = f"{name}, edit and {COUNT} images: speed of compiling from the file, {where}"
        record(GROUP, what, times[key] / times["edit"], "at least", 20, note)
