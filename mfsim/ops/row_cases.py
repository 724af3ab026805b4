"""What the conformance cases of row functions share: a row, its grid and word, a table, and what masks hide."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from mfsim.program import Tensor


@dataclass(frozen=True)
class RowSetting:
    """Rows of the last axis of `shape` (no batch axis), codes of `format` on 2**exponent, F and P.

    `entries` replaces the table; `mask` is a constant mask, `live` the shape of an activation mask.
    """

    name: str
    shape: tuple[int, ...]
    format: Format
    exponent: int = -1
    fraction: int = 4
    table_bits: int = 6
    gain: float = 1.0
    entries: tuple[int, ...] = ()
    mask: tuple[tuple[int, ...], ...] = ()
    live: tuple[int, ...] = ()
    range: Range | None = None
    exhaustive: bool = False

    @property
    def length(self) -> int:
        """Entries of a row."""
        return self.shape[-1]

    def x(self) -> Tensor:
        """Return the input."""
        x = activation("x", self.shape, self.format, Scale.of(self.exponent))
        return x if self.range is None else replace(x, range=self.range)

    def masks(self) -> list[Tensor]:
        """Return the mask, if there is one."""
        if self.live:
            return [activation("mask", self.live, Format(1, False))]
        return [constant("mask", np.array(self.mask), Format(1, False))] if self.mask else []
