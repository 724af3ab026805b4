"""Conformance cases of softmax and tanh-l1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import Case, activation, constant
from mfsim.ops.softmax.tables import (
    exp_table,
    log_tables,
    reciprocal_bits,
    softmax_shift_thresholds,
    tanh_l1_shift_thresholds,
    tanh_table,
)

# What the conformance cases of row functions share: a row, its grid and word, a table, and what masks hide.


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


# Conformance cases that the four forms of softmax share; each form adds its own constants to them.

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


# Conformance cases that the two forms of tanh-l1 share.

TANH_STEPS = (0, 1, 3, 4, 7, 8)
"""A table of few bits, whose rows meet ties and thresholds often."""


@dataclass(frozen=True)
class TanhSetting(RowSetting):
    """A row with the table of tanh and eps."""

    eps: int = 1

    def inputs(self, others: list[Tensor]) -> tuple[Tensor, ...]:
        """Return x, the table, `others` and the mask, if there is one."""
        word = self.format
        codes = self.entries or tanh_table(self.exponent, min(word.bits, 16), self.table_bits, self.gain, word.signed)
        table = constant("tanh_table", np.array(codes), None, Scale.of(-self.table_bits))
        return (self.x(), table, *others, *self.masks())


TANH_SETTINGS = (
    TanhSetting("exhaustive", (3,), Format(4), exhaustive=True),
    TanhSetting("exhaustive-steps", (3,), Format(4), 0, 3, 3, entries=TANH_STEPS, exhaustive=True),
    TanhSetting("exhaustive-pair", (2,), Format(8), -5, 7, 12, eps=4, exhaustive=True),
    TanhSetting("exhaustive-whole-table", (2,), Format(6, False), -4, 5, 9, 0.3, exhaustive=True),
    TanhSetting("one-entry", (1,), Format(5), exhaustive=True),
    TanhSetting("positive", (2,), Format(5), range=Range.of(3, 9), exhaustive=True),
    TanhSetting("negative", (2,), Format(5), range=Range.of(-9, -3), exhaustive=True),
    TanhSetting(
        "past-the-table", (2,), Format(6), 0, 4, 3, entries=TANH_STEPS, range=Range.of(-20, -9), exhaustive=True
    ),
    TanhSetting(
        "exhaustive-mask", (2, 2), Format(3), 0, 4, 3, entries=TANH_STEPS, mask=((0, 1), (1, 1)), exhaustive=True
    ),
    TanhSetting("exhaustive-live-mask", (3,), Format(3), 0, 4, 3, entries=TANH_STEPS, live=(3,), exhaustive=True),
    TanhSetting("shared-live-mask", (2, 3, 4), Format(8), -3, 8, 12, live=(1, 1, 4)),
    TanhSetting("causal", (2, 3, 3), Format(8), -3, 8, 12, mask=((1, 0, 0), (1, 1, 0), (1, 1, 1))),
    TanhSetting("mask-of-one-row", (2, 5), Format(8), -3, 8, 12, mask=((1, 0, 1, 1, 0),)),
    TanhSetting("row-of-65", (2, 65), Format(8), -5, 10, 12, eps=4),
    TanhSetting("range-by-channel", (2, 3), Format(8), -4, 8, 12, range=Range((-9, 5), (3, 100), 1)),
    TanhSetting("sixteen-bits", (7,), Format(16), -12, 14, 18),
    TanhSetting("wide-input", (3,), Format(40), -1),
    TanhSetting("past-2**53", (4,), Format(8), -4, 8, 45),
)


def common_tanh_cases(others: Callable[[TanhSetting], list[Tensor]]) -> Iterator[Case]:
    """Yield a case for each setting, with the constants that `others` returns between table and mask."""
    for setting in TANH_SETTINGS:
        attributes = {"fraction": setting.fraction, "eps": setting.eps}
        yield Case(setting.name, setting.inputs(others(setting)), attributes, setting.exhaustive)


# softmax: weights of a row that sum to about 1, each by a division.
#
#     m = max x;  d_i = m - x_i;  t_i = exp_table[min(d_i, size - 1)];  S = sum t
#     y_i = (2**(F+1) t_i + S) // (2 S)          t_i / S on the grid 2**-F, halves up
#
# exp_table[d] = round(2**P exp(-gain d 2**-e)) for x on 2**-e (`mfsim/ops/softmax/tables.py`). Error against the
# float softmax of gain x, with p its value: at most 1/2 + 2**(F-P-1) (1 + p N) LSB, since t is off by at most
# 1/2, S by N/2, and S >= 2**P; so P = max(12, F + ceil(log2 N)) keeps it at about 1 LSB. The order of a row is
# kept: x_i >= x_j gives y_i >= y_j. Masks: `mfsim/ops/softmax/rows.py`.


def cases_softmax():
    yield from common_cases(lambda setting: ([], {}))


# softmax_recip: softmax with one division for each row.
#
#     R = 2**K // S;   y_i = (t_i R + 2**(K-F-1)) >> (K - F)
#
# m, d, t and S are those of softmax (`mfsim/ops/softmax/softmax_definition.py`). R is floored: beside the error of softmax
# at most 2**(P+F-K) LSB, always downwards, whatever N is. K = P + F + 4 makes it 1/16 LSB; with K = P + F + 2 the
# row sums fall visibly. t R is at most 2**K, since R <= 2**K / S and t <= S.


def cases_softmax_recip():
    yield from common_cases(lambda setting: ([], {"reciprocal": reciprocal_bits(setting.fraction, setting.table_bits)}))


# softmax_shift: softmax with the row sum rounded to a power of two; no multiplication, no division.
#
#     k   = number of thresholds that S reaches,  thresholds[j-1] = ceil(2**(j - 1/2)), j = 1 .. P + n + 1
#     y_i = (t_i + 2**(k-F-1)) >> (k - F)
#
# m, d, t and S are those of softmax (`mfsim/ops/softmax/softmax_definition.py`). k is log2 S rounded, so a row sums to
# 2**-1/2 .. 2**1/2 instead of 1: up to 29 % from the float softmax. It is no approximation of that one but of
# `mfsim.nn.Softmax(form="shift")`, from which it differs by at most 1/2 + 2**(F-P-1) LSB where both round to one k.
# S >= 2**P reaches the first P thresholds without being compared, and k >= P >= F + 1.


def _constants_softmax_shift(setting):
    codes = np.array(softmax_shift_thresholds(setting.table_bits, setting.length))
    return [constant("thresholds", codes, None, Scale.of(-setting.table_bits))], {}


def cases_softmax_shift():
    yield from common_cases(
        lambda setting: _constants_softmax_shift(setting) if setting.table_bits > setting.fraction else None
    )
    for setting in SETTINGS:
        if setting.name == "row-of-65":
            table, ((thresholds,), _) = setting.table(), _constants_softmax_shift(setting)
            sums = [int(code) - below for code in thresholds.codes for below in (0, 1)]
            met = [rows_with_sum(table, setting.shape, total) for total in sums]
            inputs = (setting.x(), constant("exp_table", table, None, Scale.of(-setting.table_bits)), thresholds)
            extra = tuple((row,) for row in met if row is not None)
            yield Case("sums-on-thresholds", inputs, {"fraction": setting.fraction}, extra=extra)


# softmax_log: softmax by a subtraction in the log domain; no multiplication, no division.
#
#     j   = number of thresholds that S reaches,  thresholds[j-1] = 2**(P+j), j = 1 .. n + 1
#     u   = round(S 2**M / 2**(P+j)) - 2**M         in 0 .. 2**M, halves up: the mantissa of S
#     L   = lnk_table[j] + lnm_table[u]             ln(S / 2**P) on the grid gain 2**-(e+g)
#     y_i = out_table[min(2**g d_i + L, size - 1)]
#
# m, d, t and S are those of softmax (`mfsim/ops/softmax/softmax_definition.py`), the tables are in `mfsim/ops/softmax/tables.py`:
# lnk[j] stands for j ln 2, lnm[u] for ln(1 + u 2**-M), out[v] for exp(-v) on the grid 2**-F. The rounded mantissa has
# 2**M + 1 values: a truncated one would give a row of one weight less than 1. Error against the float softmax
# p of gain x: at most 1/2 + 2**F p (exp(E) - 1) LSB with E = gain 2**-(e+g) + 2**-(M+1) + N 2**-(P+1), for the two
# roundings of L, that of the mantissa, and those of the terms.


def _constants_softmax_log(setting):
    if setting.table_bits < 2 or setting.fraction > 12 or setting.table_bits > 40:
        return None
    mantissa_bits = min(8, setting.table_bits - 1)
    tables = log_tables(
        setting.exponent, setting.length, setting.fraction, setting.gain, setting.table_bits, None, mantissa_bits
    )
    fine_bits = tables.fine.bit_length() - 1
    logarithms, sums = Scale.of(setting.exponent - fine_bits), Scale.of(-setting.table_bits)
    constants = [
        constant("thresholds", np.array(tables.thresholds), None, sums),
        constant("lnk_table", np.array(tables.lnk_table), None, logarithms),
        constant("lnm_table", np.array(tables.lnm_table), None, logarithms),
        constant("out_table", np.array(tables.out_table), None, Scale.of(-setting.fraction)),
    ]
    return constants, {"fine_bits": fine_bits}


def cases_softmax_log():
    yield from common_cases(_constants_softmax_log)


# tanh_l1: signed weights whose magnitudes sum to about 1, each by a division.
#
#     t_i = tanh_table[min(|x_i|, size - 1)];  L = eps + sum t
#     y_i = sign(x_i) ((2**(F+1) t_i + L) // (2 L))       t_i / L on the grid 2**-F, halves away from 0
#
# tanh_table[a] = round(2**P tanh(gain a 2**-e)) for x on 2**-e, eps at least 1 (`mfsim/ops/softmax/tables.py`).
# Error against A = tanh(gain x) / (eps + sum |tanh(gain x)|): at most 1/2 + 2**F (1/2 + |A| (N/2 + 1)) / L LSB,
# since t is off by at most 1/2, and L by N/2 and by less than 1 for eps. Masks: `mfsim/ops/softmax/rows.py`.


def cases_tanh_l1():
    yield from common_tanh_cases(lambda setting: [])


# tanh_l1_shift: tanh-l1 with its divisor rounded to a power of two; no multiplication, no division.
#
#     k   = number of thresholds that L reaches,  thresholds[j-1] = ceil(2**(j - 1/2)), j = 1 .. P + n + 2
#     y_i = sign(x_i) ((2**(F+1) t_i + 2**k) >> (k + 1))
#
# t and L are those of tanh_l1 (`mfsim/ops/softmax/tanh_l1_definition.py`). k is log2 L rounded, so the magnitudes of a row sum to about
# 2**-1/2 .. 2**1/2 instead of 1: up to 29 % from tanh-l1. It is no approximation of that one but of
# `mfsim.nn.TanhL1(form="shift")`, from which it differs by at most 1/2 + 2**F / 2**(k+1) LSB where both round to one k.


def cases_tanh_l1_shift():
    yield from common_tanh_cases(
        lambda setting: [constant("thresholds", np.array(tanh_l1_shift_thresholds(setting.table_bits, setting.length)))]
    )
    steps = constant("tanh_table", np.array(TANH_STEPS))
    for eps in range(1, 8):
        thresholds = constant("thresholds", np.array(tanh_l1_shift_thresholds(3, 2)))
        yield Case(
            f"divisors-on-thresholds-eps-{eps}",
            (activation("x", (2,), Format(4)), steps, thresholds),
            {"fraction": 5, "eps": eps},
            exhaustive=True,
        )
