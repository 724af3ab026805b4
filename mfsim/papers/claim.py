"""`Claim`: a number as a paper prints it, what the code here gives, and whether they agree.

The printed text is data. Our value is computed when the claim is made, and the verdict follows from the
two: no verdict of exactness can be typed.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

EXACT, NOT_DERIVABLE, DIFFERS = "exact", "not derivable", "does not reproduce"
VERDICTS = (EXACT, NOT_DERIVABLE, DIFFERS)
NEEDS_TRAINING = "needs training"
MEASUREMENT = "a measurement on the authors' machines"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes
    ----------
    paper : name of the paper, a key of `mfsim.papers.PAPERS`.
    where : section, table or equation.
    what : the quantity.
    claimed : as printed.
    ours : our value, None if it cannot be derived. Counts are plain ints.
    verdict : one of `VERDICTS`.
    reason : one sentence: how our value was found, or why it differs or is missing.
    """

    paper: str
    where: str
    what: str
    claimed: str
    ours: int | float | None
    verdict: str
    reason: str


COLUMNS = tuple(field.name for field in dataclasses.fields(Claim))


@dataclass(frozen=True)
class Source:
    """Makes the claims of the paper called `paper`."""

    paper: str

    def number(
        self,
        where: str,
        what: str,
        printed: str,
        ours: int | float,
        reason: str,
        *,
        unit: str = "",
        scale: float = 1,
    ) -> Claim:
        """Return the claim of a number: exact if our value, in units of `scale`, rounds to the printed digits.

        Examples
        --------
        >>> Source("hadamard").number("", "", "2.694", 2693578, "", unit="M", scale=1e6).verdict
        'exact'
        """
        verdict = EXACT if rounded(ours / scale, printed) == printed.replace(",", "") else DIFFERS
        return Claim(self.paper, where, what, f"{printed} {unit}".strip(), ours, verdict, reason)

    def holds(self, where: str, what: str, printed: str, ours: int | float, agrees: bool, reason: str) -> Claim:
        """Return the claim of a bound or a formula, which our value satisfies if it `agrees`."""
        return Claim(self.paper, where, what, printed, ours, EXACT if agrees else DIFFERS, reason)

    def measured(self, where: str, what: str, printed: str, reason: str = NEEDS_TRAINING) -> Claim:
        """Return the claim of something that no arithmetic gives."""
        return Claim(self.paper, where, what, printed, None, NOT_DERIVABLE, reason)


def rounded(value: int | float, printed: str) -> str:
    """Return `value` with as many decimals as `printed` has.

    >>> rounded(182.849664, "182.85"), rounded(480138, "480,138")
    ('182.85', '480138')
    """
    return f"{value:.{len(printed.partition('.')[2])}f}"
