"""Compare two realisations code by code; equal means every code, and no tolerance is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mfsim.errors import DataError, ParityError, ShapeError
from mfsim.ir.program import Program


def codes_of(program: Program, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the codes of real `outputs`, by name, on the scales of the program's outputs.

    Parameters
    ----------
    program : Program
        Program whose outputs have one power of two as scale each.
    outputs : mapping of str to array of real, shape (batch, ...)
        Values by output name.

    Returns
    -------
    dict of str to int64 array
        Codes by output name.

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
    """Return how many codes of the outputs of two realisations differ; shapes must be equal.

    Parameters
    ----------
    name : str
        Name of the pair.
    left, right : mapping of str to integer array
        Codes by output name; the outputs of `left` are compared.

    Returns
    -------
    ParityPair
        Codes compared, and how many differ.

    Raises
    ------
    ShapeError
        If an output has two shapes.
    """
    compared = mismatches = 0
    for output in left:
        a, b = np.asarray(left[output]), np.asarray(right[output])
        if a.shape != b.shape:
            raise ShapeError(f"output `{output}` of {name} has the shapes {a.shape} and {b.shape}")
        compared += a.size
        mismatches += int(np.count_nonzero(a != b))
    return ParityPair(name, compared, mismatches)


@dataclass(frozen=True)
class ParityPair:
    """Two realisations that must agree: `mismatches` of `compared` codes (or samples) differ."""

    name: str
    compared: int
    mismatches: int

    def __post_init__(self) -> None:
        if not 0 <= self.mismatches <= self.compared:
            raise DataError(f"`mismatches` of `{self.name}` must be in 0..{self.compared}, not {self.mismatches}")

    @property
    def equal(self) -> bool:
        """Whether something was compared and nothing differed."""
        return self.compared > 0 and self.mismatches == 0
