"""From codes back to what they mean: real values, and how often a classifier is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mfsim.errors import DataError, did_you_mean
from mfsim.ir.fixed_point import dequantize
from mfsim.ir.program import Program
from mfsim.keywords import check_keywords
from mfsim.simulate.api import simulate
from mfsim.simulate.inputs import by_name


@check_keywords
def dequantized(program: Program, codes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the real values code * scale of tensors of `program`, by name, float64.

    Exact for codes below 2**53.

    Parameters
    ----------
    program : Program
        Integer program.
    codes : mapping of str to integer array, shape (batch, ...)
        Codes by tensor name.

    Returns
    -------
    dict of str to float64 array
        Values by tensor name.

    Raises
    ------
    DataError
        If the program has no such tensor.
    """
    for name in codes:
        if name not in program.tensors:
            raise DataError(f"the program has no tensor `{name}`{did_you_mean(name, program.tensors)}")
    return {name: dequantize(values, program.tensors[name].scale) for name, values in codes.items()}


@check_keywords
def accuracy(
    program: Program,
    images: np.ndarray,
    labels: np.ndarray,
    *,
    batch_size: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> float:
    """Return the fraction of `images` whose greatest logit is that of their label; of equal logits the first wins.

    Parameters
    ----------
    program : of one input and one output [batch, classes]
    images : array [batch, ...] as of `simulate`: real values if floating-point, codes if integer
    labels : integer array [batch]

    Raises
    ------
    DataError
        If the program is no classifier, there is no image, or images and labels differ in number.
    """
    if len(program.inputs) != 1 or len(program.outputs) != 1 or len(program.tensors[program.outputs[0]].shape) != 2:
        raise DataError("accuracy needs a program of one input and one output [batch, classes]")
    (values,) = by_name(program, images).values()
    labels = np.asarray(labels)
    if labels.shape != (len(values),) or not len(values):
        raise DataError(
            f"there must be one label for each of at least one image, not {labels.shape} for {len(values)} images"
        )
    result = simulate(program, values, batch_size=batch_size, threads=threads, progress=progress)
    return float(np.mean(classes(program, result.output) == labels))


def classes(program: Program, logits: np.ndarray) -> np.ndarray:
    """Return the class of each row of logit codes [batch, classes], compared on one grid, exactly.

    Parameters
    ----------
    program : Program
        Program whose first output the logits are.
    logits : integer array, shape (batch, classes)
        Codes.

    Returns
    -------
    integer array, shape (batch,)
        Index of the greatest value; the first of equal ones.
    """
    scale = program.tensors[program.outputs[0]].scale
    if scale.axis is None:
        return np.asarray(np.argmax(logits, axis=1))
    finest = min(scale.steps)
    return np.asarray(np.argmax(logits.astype(object) * np.array([step / finest for step in scale.steps]), axis=1))
