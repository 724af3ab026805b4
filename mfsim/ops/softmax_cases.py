"""Conformance cases that the four forms of softmax share; each form adds its own constants to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.derived.softmax import exp_table
from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, constant
from mfsim.ops.row_cases import RowSetting
from mfsim.program import Tensor

STEPS = (8, 4, 2, 1, 1, 0)
"""A table of few bits, whose rows meet ties and thresholds often."""


@dataclass(frozen=True)
class Setting(RowSetting):
    """A row with the table of exp."""

    def table(self) -> tuple[int, ...]:
        """Return the table of exp."""
        return self.entries or exp_table(self.exponent, min(self.format.bits, 16), self.table_bits, self.gain)


Extend = Callable[[Setting], tuple[list[Tensor], dict[str, Any]] | None]
CAUSAL = ((1, 0, 0), (1, 1, 0), (1, 1, 1))

SETTINGS = (
    Setting("exhaustive", (3,), Format(4), exhaustive=True),
    Setting("exhaustive-steps", (4,), Format(3, False), 0, 4, 3, entries=STEPS, exhaustive=True),
    Setting("exhaustive-whole-table", (2,), Format(6, False), -2, 5, 9, 0.3, exhaustive=True),
    Setting("exhaustive-pair", (2,), Format(8), -4, 8, 12, exhaustive=True),
    Setting("one-entry", (1,), Format(5), exhaustive=True),
    Setting(
        "exhaustive-mask", (2, 2), Format(3, False), 0, 4, 3, entries=STEPS, mask=((0, 1), (1, 1)), exhaustive=True
    ),
    Setting("exhaustive-live-mask", (3,), Format(3), 0, 4, 3, entries=STEPS, live=(3,), exhaustive=True),
    Setting("exhaustive-live-mask-whole-table", (2,), Format(4), -3, live=(2,), exhaustive=True),
    Setting("shared-live-mask", (2, 3, 4), Format(8), -3, 8, 12, live=(1, 1, 4)),
    Setting("live-mask-by-row", (2, 3, 4), Format(8), -3, 8, 12, live=(2, 3, 4)),
    Setting("causal", (2, 3, 3), Format(8), -3, 8, 12, mask=CAUSAL),
    Setting("mask-of-one-row", (2, 5), Format(8), -3, 8, 12, mask=((1, 0, 1, 1, 0),)),
    Setting("row-of-65", (2, 65), Format(8), -4, 8, 15),
    Setting("ties-of-32", (32,), Format(8), -4, 4, 12),
    Setting("range-by-channel", (2, 3), Format(8), -4, 8, 12, range=Range((-9, 5), (3, 100), 1)),
    Setting("sixteen-bits", (7,), Format(16), -10, 15, 18),
    Setting("wide-input", (3,), Format(40), -1),
    Setting("past-2**53", (4,), Format(8), -4, 8, 45),
)


def common_cases(extend: Extend) -> Iterator[Case]:
    """Yield a case for each setting; `extend` returns the form's own constants and attributes, None to leave one out."""
    for setting in SETTINGS:
        extended = extend(setting)
        if extended is None:
            continue
        table = constant("exp_table", setting.table(), None, Scale.of(-setting.table_bits))
        constants, attributes = extended
        inputs = (setting.x(), table, *constants, *setting.masks())
        yield Case(setting.name, inputs, {"fraction": setting.fraction, **attributes}, setting.exhaustive)


def rows_with_sum(table: Sequence[int], shape: tuple[int, ...], total: int) -> np.ndarray | None:
    """Return codes of `shape` whose rows have the sum `total` of terms; None if the greedy choice finds none.

    `table` falls to 0. Each row has one entry with d = 0, the others the greatest terms that still fit.
    """
    distances, rest = [0], total - table[0]
    while rest > 0 and len(distances) < shape[-1]:
        distances.append(next(d for d, term in enumerate(table) if term <= rest))
        rest -= table[distances[-1]]
    if rest != 0:
        return None
    distances += [len(table) - 1] * (shape[-1] - len(distances))
    return np.broadcast_to(np.array(distances) * -1 + 100, shape)
