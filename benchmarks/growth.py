"""How cost grows: pictures, and the numbers in them as JSON, in docs/performance.

Each picture shows the work of a second, so that a flat line is a cost that grows as the work does.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.rows import machine, medians
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.kernels import cpu
from mfsim.ops.wht.fast import WHT_ISAS, transform
from mfsim.report.charts import Axis
from mfsim.report.curves import KINDS, Curve, curves
from mfsim.report.pictures import Picture
from mfsim.simulate import Simulator

FOLDER = pathlib.Path(__file__).parent.parent / "docs" / "performance"
WORD, SCALE = Format(8), Scale.of(-7)
ROUNDS = 5


def rates(runs: Mapping[str, Sequence[Callable[[], object]]], work: Sequence[float]) -> dict[str, list[float]]:
    """Return for each curve the work of a second at each place; `work` is what a run at each place does."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for place, units in enumerate(work):
        times = medians({name: places[place] for name, places in runs.items()}, ROUNDS)
        for name, time in times.items():
            found[name].append(units / time)
    return found


def draw(
    stem: str,
    caption: str,
    note: str,
    places: Sequence[int],
    unit: tuple[str, float],
    found: Mapping[str, Sequence[float]],
    folder: pathlib.Path = FOLDER,
) -> None:
    """Write the picture and its numbers; `unit` is its name and how many it has of what was found."""
    name, size = unit
    values = {label: [rate / size for rate in shown] for label, shown in found.items()}
    lines = [Curve(label, kind, tuple(shown)) for (label, shown), kind in zip(values.items(), KINDS, strict=False)]
    axis = Axis.over([value for line in lines for value in line.values if value is not None], name)
    svg = curves(stem, caption, note, [str(place) for place in places], lines, axis, None)
    picture = Picture(stem, caption, note, tuple((line.kind, line.label) for line in lines), svg)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.svg").write_text(picture.file(), encoding="utf-8")
    numbers = {label: [float(f"{value:.4g}") for value in shown] for label, shown in values.items()}
    text = json.dumps({"places": list(places), "unit": name, "curves": numbers, "machine": machine()}, indent=1)
    (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def product(op: str, width: int, rows: int) -> Callable[[], object]:
    """Return a run of `rows` rows times a square matrix of `width` columns, made 8 bits wide again."""
    rng = np.random.default_rng(0)
    builder = ProgramBuilder()
    x = builder.input("x", (width,), WORD, SCALE)
    w = builder.constant("w", rng.integers(-127, 128, (width, width)), WORD, SCALE)
    attributes = {"shift": (8,), "bits": 8}
    simulator = Simulator(builder.finish([builder.node("requantize", [builder.node(op, [x, w])], attributes)]))
    codes = rng.integers(-128, 128, (rows, width), dtype=np.int8)
    return lambda: simulator.run(codes, threads=1, batch_size=rows)


def simulated_transform(length: int, codes: int, samples: int) -> Callable[[], object]:
    """Return a run of Walsh-Hadamard transforms of `length`, made 8 bits wide again, of `samples` times `codes` codes."""
    builder = ProgramBuilder()
    x = builder.input("x", (codes,), WORD, SCALE)
    wide = builder.node("wht", [x], {"block": length})
    shift = {"shift": (length.bit_length() - 1,), "bits": 8}
    simulator = Simulator(builder.finish([builder.node("requantize", [wide], shift)]))
    values = np.random.default_rng(0).integers(-128, 128, (samples, codes), dtype=np.int8)
    return lambda: simulator.run(values, threads=1)


def transform_alone(kind: str, length: int, codes: int) -> Callable[[], object]:
    """Return a run of the kernel alone, in place on `codes` words of type `kind`."""
    values, level = np.zeros(codes, kind), cpu.best(tuple(WHT_ISAS))
    return lambda: transform(values, values, length, 1, "natural", level)
