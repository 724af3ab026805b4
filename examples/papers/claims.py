"""`Claim`: a number as a paper prints it, what comes out here, how that was found, and whether the two agree.

The printed text is data. `Source` makes claims, and there the verdict follows from the printed text and our value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from examples.papers.values import Absent, Counted, Derived, Value, basis
from mfsim.analysis.listing import Cell

EXACT, WITHIN, BEYOND = "exact", "within the bound", "beyond the bound"
DIFFERS, NOT_DERIVABLE = "does not reproduce", "not derivable"
VERDICTS = (EXACT, WITHIN, BEYOND, DIFFERS, NOT_DERIVABLE)
NEEDS_TRAINING = "needs training"
MEASUREMENT = "a measurement on the authors' machines"
BOUNDS: Mapping[str, Callable[[int | float, float], bool]] = {
    "less than": operator.lt,
    "more than": operator.gt,
    "up to": operator.le,
}
"""The words of a bound, and what they ask for."""
COLUMNS = ("paper", "where", "what", "claimed", "ours", "basis", "verdict", "reason")


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes
    ----------
    paper : name of the paper, a key of `examples.papers.PAPERS`.
    where : section, table or equation.
    what : the quantity.
    claimed : as printed.
    ours : our value, or why there is none.
    verdict : one of `VERDICTS`; "not derivable" where there is no value.
    reason : one sentence: how our value was found, or why it differs or is missing.
    """

    paper: str
    where: str
    what: str
    claimed: str
    ours: Value
    verdict: str
    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.ours, (Counted, Derived, Absent)):
            raise TypeError(f"`ours` must be a `Counted`, a `Derived` or an `Absent`, not {self.ours!r}")
        if isinstance(self.ours, Absent) and self.verdict != NOT_DERIVABLE:
            raise ValueError(f"a claim without a value of ours must be {NOT_DERIVABLE!r}, not {self.verdict!r}")

    @property
    def value(self) -> int | float | None:
        """Our number, None if there is none; counts are ints."""
        return None if isinstance(self.ours, Absent) else self.ours.value

    @property
    def basis(self) -> str:
        """How our value was found, one of `examples.papers.values.BASES`; it follows from the type of `ours`."""
        return basis(self.ours)

    def row(self) -> tuple[Cell, ...]:
        """Return the claim under `COLUMNS`."""
        found = (self.paper, self.where, self.what, self.claimed)
        return (*found, self.value, self.basis, self.verdict, self.reason)


@dataclass(frozen=True)
class Source:
    """Makes the claims of the paper called `paper`."""

    paper: str

    def number(
        self,
        where: str,
        what: str,
        printed: str,
        ours: Counted | Derived,
        reason: str,
        *,
        unit: str = "",
        scale: float = 1,
    ) -> Claim:
        """Return the claim of a number: exact if our value, in units of `scale`, rounds to the printed digits.

        Raises
        ------
        ValueError
            If `printed` is not a number; a bound is no number.

        Examples
        --------
        >>> Source("keyless").number("", "", "0.24", Derived(234881024), "", unit="GB", scale=1e9).verdict
        'does not reproduce'
        """
        if not re.fullmatch(r"\d[\d,]*(\.\d+)?", printed):
            raise ValueError(f"`printed` must be a number, not {printed!r}; a bound is compared by `Source.bound`")
        verdict = EXACT if rounded(ours.value / scale, printed) == printed.replace(",", "") else DIFFERS
        return Claim(self.paper, where, what, f"{printed} {unit}".strip(), ours, verdict, reason)

    def equal(
        self, where: str, what: str, printed: str, ours: Counted | Derived, reason: str, *expected: int | Counted
    ) -> Claim:
        """Return the claim of a formula: exact if our value is equal to all that the formula gives.

        Raises
        ------
        ValueError
            If `printed` is a bound, or nothing is `expected`.
        """
        if any(words in printed for words in BOUNDS):
            raise ValueError(f"`printed` must be a formula, not {printed!r}; a bound is compared by `Source.bound`")
        if not expected:
            raise ValueError("`expected` must have at least one number")
        numbers = [given.value if isinstance(given, Counted) else given for given in expected]
        verdict = EXACT if all(ours.value == number for number in numbers) else DIFFERS
        return Claim(self.paper, where, what, printed, ours, verdict, reason)

    def bound(self, where: str, what: str, printed: str, ours: Counted | Derived, reason: str) -> Claim:
        """Return the claim of a bound, such as "less than 10 %": whether our value lies within or beyond it.

        Raises
        ------
        ValueError
            If `printed` is not words of `BOUNDS` and a number.

        Examples
        --------
        >>> Source("minimum").bound("", "", "up to 90 %", Derived(91.67), "").verdict
        'beyond the bound'
        """
        found = re.search(rf"({'|'.join(BOUNDS)}) (\d+(?:\.\d+)?)", printed)
        if found is None:
            raise ValueError(f"`printed` must have {', '.join(BOUNDS)} before a number, not {printed!r}")
        verdict = WITHIN if BOUNDS[found[1]](ours.value, float(found[2])) else BEYOND
        return Claim(self.paper, where, what, printed, ours, verdict, reason)

    def measured(self, where: str, what: str, printed: str, reason: str = NEEDS_TRAINING) -> Claim:
        """Return the claim of something that the authors trained or measured."""
        return Claim(self.paper, where, what, printed, Absent.MEASURED, NOT_DERIVABLE, reason)

    def unstated(
        self, where: str, what: str, printed: str, reason: str, example: Counted | Derived | None = None
    ) -> Claim:
        """Return the claim of something that depends on what the paper leaves out, with an `example` of ours."""
        return Claim(self.paper, where, what, printed, example or Absent.UNSTATED, NOT_DERIVABLE, reason)


def rounded(value: int | float, printed: str) -> str:
    """Return `value` with as many decimals as `printed` has.

    >>> rounded(182.849664, "182.85"), rounded(480138, "480,138")
    ('182.85', '480138')
    """
    return f"{value:.{len(printed.partition('.')[2])}f}"
