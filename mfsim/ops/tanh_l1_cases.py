"""Conformance cases that the two forms of tanh-l1 share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mfsim.derived.tanh_l1 import tanh_table
from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, constant
from mfsim.ops.row_cases import RowSetting
from mfsim.program import Tensor

STEPS = (0, 1, 3, 4, 7, 8)
"""A table of few bits, whose rows meet ties and thresholds often."""


@dataclass(frozen=True)
class Setting(RowSetting):
    """A row with the table of tanh and eps."""

    eps: int = 1

    def inputs(self, others: list[Tensor]) -> tuple[Tensor, ...]:
        """Return x, the table, `others` and the mask, if there is one."""
        word = self.format
        codes = self.entries or tanh_table(self.exponent, min(word.bits, 16), self.table_bits, self.gain, word.signed)
        table = constant("tanh_table", np.array(codes), None, Scale.of(-self.table_bits))
        return (self.x(), table, *others, *self.masks())


SETTINGS = (
    Setting("exhaustive", (3,), Format(4), exhaustive=True),
    Setting("exhaustive-steps", (3,), Format(4), 0, 3, 3, entries=STEPS, exhaustive=True),
    Setting("exhaustive-pair", (2,), Format(8), -5, 7, 12, eps=4, exhaustive=True),
    Setting("exhaustive-whole-table", (2,), Format(6, False), -4, 5, 9, 0.3, exhaustive=True),
    Setting("one-entry", (1,), Format(5), exhaustive=True),
    Setting("positive", (2,), Format(5), range=Range.of(3, 9), exhaustive=True),
    Setting("negative", (2,), Format(5), range=Range.of(-9, -3), exhaustive=True),
    Setting("past-the-table", (2,), Format(6), 0, 4, 3, entries=STEPS, range=Range.of(-20, -9), exhaustive=True),
    Setting("exhaustive-mask", (2, 2), Format(3), 0, 4, 3, entries=STEPS, mask=((0, 1), (1, 1)), exhaustive=True),
    Setting("exhaustive-live-mask", (3,), Format(3), 0, 4, 3, entries=STEPS, live=(3,), exhaustive=True),
    Setting("shared-live-mask", (2, 3, 4), Format(8), -3, 8, 12, live=(1, 1, 4)),
    Setting("causal", (2, 3, 3), Format(8), -3, 8, 12, mask=((1, 0, 0), (1, 1, 0), (1, 1, 1))),
    Setting("mask-of-one-row", (2, 5), Format(8), -3, 8, 12, mask=((1, 0, 1, 1, 0),)),
    Setting("row-of-65", (2, 65), Format(8), -5, 10, 12, eps=4),
    Setting("range-by-channel", (2, 3), Format(8), -4, 8, 12, range=Range((-9, 5), (3, 100), 1)),
    Setting("sixteen-bits", (7,), Format(16), -12, 14, 18),
    Setting("wide-input", (3,), Format(40), -1),
    Setting("past-2**53", (4,), Format(8), -4, 8, 45),
)


def common_cases(others: Callable[[Setting], list[Tensor]]) -> Iterator[Case]:
    """Yield a case for each setting, with the constants that `others` returns between table and mask."""
    for setting in SETTINGS:
        attributes = {"fraction": setting.fraction, "eps": setting.eps}
        yield Case(setting.name, setting.inputs(others(setting)), attributes, setting.exhaustive)
