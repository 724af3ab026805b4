"""Compare two realisations code by code; equal means every code, and no tolerance is meant."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfsim.errors import ParityError, ShapeError
from mfsim.ir.program import Program
from mfsim.report.result import ParityPair


def codes_of(program: Program, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the codes of real `outputs`, by name, on the scales of the program's outputs.

    Raises
    ------
    ParityError
        If a value is no multiple of its scale: it is then no code at all. The message names the output.
    """
    codes = {}
    for name in program.outputs:
        scale = program.tensors[name].scale
        steps = np.ldexp(np.asarray(outputs[name], dtype=np.float64), -scale.exponent)
        if not (np.isfinite(steps).all() and np.array_equal(np.rint(steps), steps)):
            raise ParityError(f"output `{name}` has values that are no multiples of its scale {scale}")
        codes[name] = steps.astype(np.int64)
    return codes


def compare_codes(name: str, left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> ParityPair:
    """Return how many codes of the outputs of two realisations differ; shapes must be equal."""
    compared = mismatches = 0
    for output in left:
        a, b = np.asarray(left[output]), np.asarray(right[output])
        if a.shape != b.shape:
            raise ShapeError(f"output `{output}` of {name} has the shapes {a.shape} and {b.shape}")
        compared += a.size
        mismatches += int(np.count_nonzero(a != b))
    return ParityPair(name, compared, mismatches)
