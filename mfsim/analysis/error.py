"""Error of an integer network against its float reference: SQNR, cosine, extremes, top-1 agreement.

All figures are float64, from sums that batches can be added to one after the other. A figure that does
not exist is None, never a made-up number: the SQNR of an exact result (it would be infinite; `exact` is
then True) and of a zero reference (it would be minus infinity), the cosine with a zero vector, the
top-1 agreement of anything but rows of at least two scores. NaN or infinity on either side is an error.
"""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields

import numpy as np

from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.errors import DataError, ModelError, ShapeError, did_you_mean
from mfsim.ir.program import Program


@dataclass(frozen=True)
class ErrorFigures:
    """Error of `count` values; `max_abs` and `mean_abs` are in the unit of the values."""

    count: int
    exact: bool
    max_abs: float
    mean_abs: float
    sqnr_db: float | None
    cosine: float | None
    top1: float | None


@dataclass
class ErrorSums:
    """Sums over any number of batches, from which `figures` follow.

    >>> sums = ErrorSums()
    >>> sums.add(np.array([[1.0, 3.0]]), np.array([[1.0, 2.0]]))
    >>> sums.figures().sqnr_db
    10.0
    """

    count: int = 0
    max_abs: float = 0.0
    sum_abs: float = 0.0
    signal: float = 0.0
    noise: float = 0.0
    power: float = 0.0
    product: float = 0.0
    rows: int = 0
    agreed: int = 0
    scores: bool = True

    def add(self, reference: np.ndarray, values: np.ndarray, what: str = "the values") -> None:
        """Add a batch: `reference` and `values` of one shape, axis 0 the batch, finite everywhere.

        Parameters
        ----------
        reference : real array, shape (batch, ...)
            Values of the float network, converted to float64.
        values : real array, shape of `reference`
            Values to judge, in the same unit.
        what : str
            What errors call the values.

        Raises
        ------
        ShapeError
            If the shapes differ.
        DataError
            If a value on either side is NaN or infinite.
        """
        reference, values = np.asarray(reference, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if reference.shape != values.shape:
            raise ShapeError(f"{what} must have the shape {reference.shape} of the reference, not {values.shape}")
        for name, array in (("the reference of ", reference), ("", values)):
            if not np.isfinite(array).all():
                raise DataError(f"{name}{what} must be finite, and {int((~np.isfinite(array)).sum())} values are not")
        difference = np.abs(values - reference)
        self.count += reference.size
        self.max_abs = max(self.max_abs, float(difference.max(initial=0.0)))
        self.sum_abs += float(difference.sum())
        self.signal += float(np.square(reference).sum())
        self.noise += float(np.square(difference).sum())
        self.power += float(np.square(values).sum())
        self.product += float((reference * values).sum())
        self.scores &= reference.ndim == 2 and reference.shape[-1] > 1
        if self.scores:
            self.rows += len(reference)
            self.agreed += int((reference.argmax(axis=1) == values.argmax(axis=1)).sum())

    def figures(self) -> ErrorFigures:
        """Return the figures of all batches so far."""
        exact = self.max_abs == 0.0
        finite = self.signal > 0.0 and self.noise > 0.0
        lengths = math.sqrt(self.signal) * math.sqrt(self.power)
        return ErrorFigures(
            self.count,
            exact,
            self.max_abs,
            self.sum_abs / self.count if self.count else 0.0,
            10.0 * (math.log10(self.signal) - math.log10(self.noise)) if finite else None,
            min(1.0, max(-1.0, self.product / lengths)) if lengths > 0.0 else None,
            self.agreed / self.rows if self.scores and self.rows else None,
        )


def compare(reference: np.ndarray, values: np.ndarray, what: str = "the values") -> ErrorFigures:
    """Return the error of `values` against `reference`: two real arrays of one shape, axis 0 the batch.

    Parameters
    ----------
    reference : real array, shape (batch, ...)
        Values of the float network, finite.
    values : real array, shape of `reference`
        Values to judge, in the same unit, finite.
    what : str
        What errors call the values.

    Returns
    -------
    ErrorFigures
        SQNR in dB, cosine, extremes and top-1 agreement.

    Raises
    ------
    ShapeError
        If the shapes differ.
    DataError
        If a value on either side is NaN or infinite.
    """
    sums = ErrorSums()
    sums.add(reference, values, what)
    return sums.figures()


def layer_outputs(program: Program) -> dict[str, str]:
    """Return the output tensor of each layer: the first output of its last node.

    Parameters
    ----------
    program : Program
        The integer program.

    Returns
    -------
    dict of str to str
        Tensor name by layer, in the order of the program.
    """
    return {node.layer: node.outputs[0] for node in program.nodes}


@dataclass(frozen=True)
class LayerError:
    """Error of one tensor of the program, with the node that wrote it."""

    layer: str
    tensor: str
    op: str
    count: int
    exact: bool
    max_abs: float
    mean_abs: float
    sqnr_db: float | None
    cosine: float | None
    top1: float | None


@dataclass(frozen=True, repr=False)
class ErrorReport(Tabular):
    """Errors of tensors against their float reference, in the order of the program."""

    rows: tuple[LayerError, ...]

    def headline(self) -> str:
        """Return how many tensors were compared, and how many are exact."""
        return f"{counted(len(self.rows), 'tensor')}, {sum(row.exact for row in self.rows)} of them exact"

    def listings(self) -> list[Listing]:
        """Return the table of errors."""
        columns = tuple(field.name for field in fields(LayerError))
        return [Listing("errors", columns, tuple(astuple(row) for row in self.rows))]

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it; a figure that does not exist is null."""
        return {listing.name: listing.records() for listing in self.listings()}

    def write_csv(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Write `errors.csv` into `folder` and return its path in a list.

        Parameters
        ----------
        folder : str or os.PathLike
            Where `errors.csv` goes; made if missing.

        Returns
        -------
        list of pathlib.Path
            The one path written.

        Raises
        ------
        MfsimError
            If the folder cannot be made or written to.
        """
        return write_listings(self.listings(), folder)


class LayerErrors:
    """Collects errors of tensors of a program over batches.

    `add` takes one batch of references and codes; `report` returns what all batches together give.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._sums: dict[str, ErrorSums] = {}

    def add(self, references: Mapping[str, np.ndarray], codes: Mapping[str, np.ndarray]) -> None:
        """Add float `references` and simulated `codes` of the same tensors, both by tensor name.

        Codes without a reference are ignored.

        Parameters
        ----------
        references : mapping of str to real array, shape (batch, ...)
            Values of the float network, by tensor name, finite.
        codes : mapping of str to int64 array, shape of the reference
            Simulated codes, by tensor name; dequantized by the scale of the tensor.

        Raises
        ------
        ModelError
            If the program or `codes` lacks a tensor that has a reference.
        ShapeError
            If the shape of a reference is not that of its codes.
        DataError
            If a reference is not finite.
        """
        from mfsim.ir.fixed_point import dequantize  # starts Numba, which only the error of codes needs

        for name, reference in references.items():
            if name not in self._program.tensors:
                raise ModelError(f"the program has no tensor `{name}`{did_you_mean(name, self._program.tensors)}")
            if name not in codes:
                raise ModelError(f"tensor `{name}` has a reference but no simulated codes")
            values = dequantize(codes[name], self._program.tensors[name].scale)
            self._sums.setdefault(name, ErrorSums()).add(reference, values, f"tensor `{name}`")

    def report(self) -> ErrorReport:
        """Return the errors of every tensor that was added."""
        written = [("", name, "") for name in self._program.inputs]
        written += [(node.layer, name, node.op) for node in self._program.nodes for name in node.outputs]
        return ErrorReport(
            tuple(LayerError(*w, *astuple(self._sums[w[1]].figures())) for w in written if w[1] in self._sums)
        )


def layer_errors(
    program: Program, references: Mapping[str, np.ndarray], codes: Mapping[str, np.ndarray]
) -> ErrorReport:
    """Return the errors of one batch; arguments as for `LayerErrors.add`.

    Parameters
    ----------
    program : Program
        The integer program.
    references : mapping of str to real array, shape (batch, ...)
        Values of the float network, by tensor name, finite.
    codes : mapping of str to int64 array, shape of the reference
        Simulated codes, by tensor name.

    Returns
    -------
    ErrorReport
        One row for each tensor with a reference, in the order of the program.

    Raises
    ------
    ModelError
        If the program or `codes` lacks a tensor that has a reference.
    ShapeError
        If the shape of a reference is not that of its codes.
    DataError
        If a reference is not finite.
    """
    errors = LayerErrors(program)
    errors.add(references, codes)
    return errors.report()
