"""Our side of a claim: `Counted`, `Derived` or `Absent`. The type says how the value was found.

A `Counted` is made from a network, a tensor or a count of operations, never from a number, and plain numbers do not
mix with it. So a figure that was typed, or that rests on printed figures, cannot be called counted.
"""

from __future__ import annotations

import enum
from dataclasses import InitVar, dataclass
from fractions import Fraction

import torch
from torch import nn

from mfsim.analysis.count import CountReport, paper_rows

_SEAL = object()


@dataclass(frozen=True)
class Counted:
    """A number that was counted on something built, or a sum, difference or ratio of such numbers.

    Examples
    --------
    >>> dense, bare = Counted.parameters(nn.Linear(4, 4)), Counted.parameters(nn.Linear(4, 4, bias=False))
    >>> (dense - bare).value, (dense - bare).percent_of(dense).value
    (4, 20)
    """

    exact: Fraction
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError(
                f"a `Counted` must be counted on a module, a tensor or a `CountReport`; {self.exact!r} is a `Derived`"
            )

    @classmethod
    def parameters(cls, *modules: nn.Module, matrices: bool = False) -> Counted:
        """Return the number of parameters of modules, of their matrices alone if wanted."""
        found = (p.numel() for module in modules for p in module.parameters() if p.ndim == 2 or not matrices)
        return cls(Fraction(sum(found)), _SEAL)

    @classmethod
    def tensors(cls, module: nn.Module) -> Counted:
        """Return the number of parameter tensors of a module."""
        return cls(Fraction(len(list(module.parameters()))), _SEAL)

    @classmethod
    def length(cls, tensor: torch.Tensor, axis: int) -> Counted:
        """Return the length of an axis of a tensor."""
        return cls(Fraction(tensor.shape[axis]), _SEAL)

    @classmethod
    def operations(cls, report: CountReport, primitive: str, by: str | None = None) -> Counted:
        """Return the operations of a primitive for one sample, of the multiplications by one class if wanted."""
        rows = [row for row in report.online if row.primitive == primitive and by in (None, row.multiplied_by)]
        return cls(Fraction(sum(row.count for row in rows)), _SEAL)

    @classmethod
    def paper_rule(cls, report: CountReport) -> Counted:
        """Return the multiplications for one sample by the rule `paper`."""
        return cls(Fraction(sum(row.count for row in paper_rows(report.rows))), _SEAL)

    @property
    def value(self) -> int | float:
        """The number, an int where it is whole."""
        return self.exact.numerator if self.exact.denominator == 1 else float(self.exact)

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.exact + other.exact, _SEAL) if isinstance(other, Counted) else NotImplemented

    def __sub__(self, other: Counted) -> Counted:
        return Counted(self.exact - other.exact, _SEAL) if isinstance(other, Counted) else NotImplemented

    def __truediv__(self, other: Counted) -> Counted:
        return Counted(self.exact / other.exact, _SEAL) if isinstance(other, Counted) else NotImplemented

    def percent_of(self, whole: Counted) -> Counted:
        """Return this number in percent of another."""
        return Counted(100 * (self / whole).exact, _SEAL)


@dataclass(frozen=True)
class Derived:
    """A number that follows by arithmetic from figures that the paper prints, or from a configuration that was typed."""

    value: int | float

    def __post_init__(self) -> None:
        if not isinstance(self.value, (int, float)):
            raise TypeError(f"the value of a `Derived` must be a number, not {self.value!r}")


class Absent(enum.Enum):
    """Why there is no value of ours."""

    MEASURED = "measured"
    """The authors trained it or took it on their machines."""
    UNSTATED = "unstated"
    """It depends on something that the paper does not say."""


Value = Counted | Derived | Absent


def basis(value: Value) -> str:
    """Return how a value was found, one of `BASES`.

    >>> basis(Derived(2.5)), basis(Absent.MEASURED)
    ('derived', 'measured')
    """
    return value.value if isinstance(value, Absent) else type(value).__name__.lower()


BASES = ("counted", "derived", *(reason.value for reason in Absent))
