"""One point: give the model its words, compile it, run every image bit for bit, and say what came of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mfsim.analysis import compare, count, energy, memory, widths
from mfsim.analysis.sweeps import SweepFigures
from mfsim.errors import DataError, MfsimError
from mfsim.export.edit import EditableModel
from mfsim.quant.recipe import Recipe
from mfsim.simulate import dequantized, quantize_input, simulate
from mfsim.simulate.values import classes


@dataclass(frozen=True, eq=False)
class Samples:
    """What every point runs on: images [N, C, H, W], labels [N], and the float network's logits [N, classes]."""

    images: np.ndarray
    labels: np.ndarray
    logits: np.ndarray


def _measure(opened: EditableModel, recipe: Recipe, samples: Samples) -> SweepFigures:
    """Return the figures of `opened` with the words of `recipe`.

    Raises
    ------
    MfsimError
        Of every kind that words cause: a recipe that does not suit, a range past 63 bits, a program with more than
        one input and one output of classes.
    """
    opened.set_formats(recipe)
    program = opened.program()
    if len(program.inputs) != 1 or len(program.outputs) != 1:
        raise DataError("a sweep needs a network of one input and one output [batch, classes]")
    codes = quantize_input(program, {program.inputs[0]: samples.images})
    # One thread: the points themselves run side by side.
    found = simulate(program, codes, threads=1)
    values = dequantized(program, found.outputs)[program.outputs[0]]
    error = compare(samples.logits, values, "the logits")
    correct = int((classes(program, found.output) == samples.labels).sum())
    counts = count(program)
    return SweepFigures(
        found.samples,
        correct,
        correct / found.samples,
        error.top1,
        error.sqnr_db,
        error.mean_abs,
        sum(found.overflows.values()),
        max(row.proved_bits for row in widths(program).rows if row.kind in ("edge", "inner")),
        memory(program).total_bits("weight"),
        counts.total,
        sum(row.count for row in counts.multiplications()),
        energy(counts).total_pj,
    )


def outcome(opened: EditableModel, recipe: Recipe, samples: Samples) -> dict[str, Any]:
    """Return the content of a point's file: its figures, or the sentence that says why it has none.

    Parameters
    ----------
    opened : EditableModel
        The model that is quantized anew.
    recipe : Recipe
        The recipe of the point.
    samples : Samples
        Images, labels and float logits.

    Returns
    -------
    dict
        `figures`, a dict of the fields of `SweepFigures` or None, and `error`, a sentence on one line or "".
    """
    try:
        return {"figures": asdict(_measure(opened, recipe, samples)), "error": ""}
    except MfsimError as error:
        return {"figures": None, "error": " ".join(str(error).split())}
    except Exception as error:  # a sweep of a night does not end because one point found a mistake of ours
        sentence = " ".join(str(error).split())
        return {"figures": None, "error": f"unexpected {type(error).__name__}: {sentence or 'no message'}"}
