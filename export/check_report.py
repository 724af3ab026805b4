"""What `mfsim.export.check` found, and the limits that it was held against."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, field, fields

from mfsim import ops
from mfsim.analysis.error import ErrorFigures
from mfsim.analysis.listing import Listing
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.keywords import check_constructor
from mfsim.ops.traits import Trait


@check_constructor
@dataclass(frozen=True)
class Limits:
    """Bounds that make a check pass.

    Attributes
    ----------
    float_difference : largest difference of float.onnx on a sample, as a fraction of the largest output.
    sign_ties : fraction of samples that may differ more because an operand's sign flipped within rounding of 0.
    code_mismatches : output codes of model.onnx that may differ from the quantized torch model.
    top1 : least top-1 agreement of the quantized with the float network, or None.
    sqnr_db : least SQNR of each output of the quantized network, or None.
    """

    float_difference: float = 1e-5
    sign_ties: float = 0.005
    code_mismatches: int = 0
    top1: float | None = None
    sqnr_db: float | None = None


CANCELLATION = 16
"""How much larger sums of distances are than what a batch norm leaves of them, by order of magnitude."""


def default_limits(op_types: Iterable[str]) -> Limits:
    """Return the limits for a float file with nodes of the given types.

    A sum of distances is some hundreds where its differences are some units, and float32 rounds by the size
    of the sum, in torch and in ONNX Runtime in their own orders.

    Parameters
    ----------
    op_types : iterable of str
        Types of the file's nodes.

    Returns
    -------
    Limits
        `float_difference` is 1e-5, and 16 times that with distances among the ops.
    """
    factor = 1 if ops.op_types(Trait.DISTANCE).isdisjoint(op_types) else CANCELLATION
    return Limits(float_difference=Limits.float_difference * factor)


@dataclass(frozen=True)
class FloatParity:
    """float.onnx against the float torch model; `worst` is a fraction of the largest output.

    `ties` and `failures` are numbers of samples that differ by more than the limit, with and without a
    sign that flipped within rounding of zero.
    """

    optimised: bool
    samples: int
    worst: float
    ties: tuple[int, ...]
    failures: tuple[int, ...]


@dataclass(frozen=True)
class CodeParity:
    """model.onnx against the quantized torch model: output codes that differ, and by how many LSB at most."""

    optimised: bool
    compared: int
    mismatches: int
    worst: int


@dataclass(frozen=True)
class LayerErrors:
    """Error of the quantized against the float network: of an output, or of what a layer gives."""

    name: str
    figures: ErrorFigures


@check_constructor
@dataclass(frozen=True, repr=False)
class CheckReport(Tabular):
    """All results of a check; `passed` says whether they keep the limits, `reasons` why not."""

    samples: int
    limits: Limits
    floats: tuple[FloatParity, ...]
    codes: tuple[CodeParity, ...]
    outputs: tuple[LayerErrors, ...]
    layers: tuple[LayerErrors, ...]
    reasons: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every limit is kept."""
        return not self.reasons

    def headline(self) -> str:
        """Return whether every limit is kept, and the reasons why not."""
        return "; ".join(
            [f"{'passed' if self.passed else 'failed'} on {counted(self.samples, 'sample')}", *self.reasons]
        )

    def listings(self) -> list[Listing]:
        """Return errors of outputs and layers, and how both files agree with their models."""
        named = [*(("output", entry) for entry in self.outputs), *(("layer", entry) for entry in self.layers)]
        errors = tuple((entry.name, kind, *astuple(entry.figures)) for kind, entry in named)
        floats = (("float.onnx", p.optimised, p.samples, len(p.failures), len(p.ties), p.worst) for p in self.floats)
        codes = (("model.onnx", p.optimised, p.compared, p.mismatches, None, p.worst) for p in self.codes)
        return [
            Listing("check_errors", ("name", "kind", *(f.name for f in fields(ErrorFigures))), errors),
            Listing(
                "check_parity",
                ("file", "optimised", "compared", "mismatches", "sign_ties", "worst"),
                (*floats, *codes),
            ),
        ]

    def overview(self) -> Listing:
        """Return the errors against the float network, or how the files agree with their models where it was not asked for."""
        errors, parity = self.listings()
        return errors if errors.rows else parity

    def to_json(self) -> dict[str, object]:
        """Return the report as `json.dumps` takes it; an infinite difference is null."""
        content = {"passed": self.passed, **asdict(self)}
        for parity in content["floats"]:
            parity["worst"] = parity["worst"] if math.isfinite(parity["worst"]) else None
        return content


def reasons(report: CheckReport) -> tuple[str, ...]:
    """Return why a check does not pass.

    Parameters
    ----------
    report : CheckReport
        Its own `reasons` do not count.

    Returns
    -------
    tuple of str
        One sentence for each limit that is not kept.
    """
    limits, found = report.limits, []
    for parity in report.floats:
        where = f"float.onnx with optimisations {'on' if parity.optimised else 'off'}"
        if parity.failures:
            found.append(
                f"{where} differs from the float model by more than {limits.float_difference:g} of the largest output "
                f"on {len(parity.failures)} of {parity.samples} samples, first on sample {parity.failures[0]}"
            )
        if len(parity.ties) > limits.sign_ties * parity.samples:
            found.append(
                f"{where} has {len(parity.ties)} sign ties in {parity.samples} samples; {limits.sign_ties:.2%} are allowed"
            )
    for codes in report.codes:
        if codes.mismatches > limits.code_mismatches:
            found.append(
                f"model.onnx with optimisations {'on' if codes.optimised else 'off'} differs from the quantized model "
                f"in {codes.mismatches} of {codes.compared} output codes, by up to {codes.worst} LSB"
            )
    for output in report.outputs:
        top1, sqnr = output.figures.top1, output.figures.sqnr_db
        if limits.top1 is not None and top1 is not None and top1 < limits.top1:
            found.append(
                f"output `{output.name}` agrees with the float model in {top1:.2%} of the top classes; {limits.top1:.2%} are wanted"
            )
        if limits.sqnr_db is not None and sqnr is not None and sqnr < limits.sqnr_db:
            found.append(f"output `{output.name}` has an SQNR of {sqnr:.1f} dB; {limits.sqnr_db:.1f} dB are wanted")
    return tuple(found)
