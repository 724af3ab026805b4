"""Conformance cases of the norms: small words exhaustively, and rows that random ones miss.

Such rows are constant (V = 0, with eps = 0 the root is 0), differ in one code (the least V), lie half at
either end (the greatest V), or meet a threshold of a shift norm exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.norm.tables import eps_code, guard_bits, reciprocal_bits, shift_thresholds
from mfsim.ops.op import Case, activation, constant

GAMMA_EXPONENT = -6

EPS = 1e-5


def telling_rows(shape: tuple[int, ...], word: Format) -> tuple[tuple[np.ndarray], ...]:
    """Return samples of `shape`: constant rows, one-hot rows, rows of two codes, and half of the codes at either end."""
    width = shape[-1]
    first, half = np.arange(width) == 0, np.arange(width) < width // 2
    alternating = np.arange(width) % 2
    made = [
        np.full(width, word.lo),
        np.full(width, word.hi),
        np.where(first, 1, 0),
        np.where(first, word.hi, 0),
        np.where(first, word.lo, word.hi),
        np.where(first, word.hi, word.hi - 1),
        np.where(half, word.lo, word.hi),
        alternating,
    ]
    return tuple((np.broadcast_to(row, shape),) for row in made)


def root_cases(centred: bool, reciprocal: bool) -> Iterator[Case]:
    """Yield the cases of a norm that divides by a root, `centred` with beta, or without both."""
    rng = np.random.default_rng(6)

    def case(name, x, fraction, *, eps=EPS, units=None, guard=None, gamma=None, shifts=False, whole=False, extra=()):
        width, exponent, scale = x.shape[-1], x.scale.exponent, Scale.of(GAMMA_EXPONENT)
        codes = rng.integers(-127, 128, width) if gamma is None else np.resize(gamma, width)
        tensors = [x, constant("gamma", codes, Format(8), scale)]
        if centred:
            tensors.append(constant("beta", rng.integers(-128, 128, width), Format(8), Scale.of(-fraction)))
        guard = guard_bits(fraction, x.format, width, exponent, eps) if guard is None else guard
        units = eps_code(eps, width, exponent, guard) if units is None else units
        attributes = {"fraction": fraction, "guard": guard, "eps": units}
        attributes["times_n"] = "shift" if shifts else "mul"
        if reciprocal:
            attributes["reciprocal"] = reciprocal_bits(fraction, x.format, width, guard, 1)
        return Case(name, tuple(tensors), attributes, exhaustive=whole, extra=extra)

    small = Scale.of(-1)
    yield case("exhaustive", activation("x", (4,), Format(3), small), 3, gamma=[64, -37, 100, 1], whole=True)
    yield case("exhaustive-eps-0", activation("x", (3,), Format(4), small), 4, eps=0.0, whole=True)
    yield case("exhaustive-no-guard", activation("x", (3,), Format(4), small), 4, eps=0.0, guard=0, whole=True)
    yield case("exhaustive-one-code", activation("x", (1,), Format(8), small), 5, eps=0.0, whole=True)
    yield case("exhaustive-coarse-result", activation("x", (2,), Format(5), small), 0, guard=2, whole=True)
    yield case("exhaustive-unsigned", activation("x", (2,), Format(5, False), small), 5, shifts=True, whole=True)
    ranged = replace(activation("x", (3,), Format(8), small), range=Range.of(3, 12))
    yield case("exhaustive-positive-range", ranged, 4, whole=True)
    yield case("eps-above-all", activation("x", (5,), Format(4), small), 6, eps=1e4)
    # V = 1 and W = (2**30 + 1)**2 - 1, whose double root is rounded up to 2**30 + 1; then 1/2 becomes less than 1/2.
    square = activation("x", (2 if centred else 1,), Format(2))
    units = (2**30 + 1) ** 2 - 1 - 4**24
    yield case("exhaustive-below-a-square", square, 5, units=units, guard=24, gamma=[64], whole=True)
    word, tokens = Format(8), (2, 65)
    yield case("tokens", activation("x", tokens, word, Scale.of(-4)), 5, extra=telling_rows(tokens, word))
    x = activation("x", (65,), word, Scale.of(-4))
    yield case("tokens-shift", x, 8, shifts=True, extra=telling_rows((65,), word))
    x = activation("x", (64,), word, Scale.of(-7))
    yield case("power-of-two-eps-0", x, 5, eps=0.0, shifts=True, gamma=[64], extra=telling_rows((64,), word))
    word = Format(16)
    x = activation("x", (192,), word, Scale.of(-10))
    yield case("past-2**53", x, 10, extra=telling_rows((192,), word))


def threshold_rows(kind: str, width: int, word: Format, thresholds: tuple[int, ...]) -> list[np.ndarray]:
    """Return rows whose statistic meets a threshold exactly, or misses it by 1 where there are such rows.

    l2: (0, a, a, 2a) has V = 8 a**2, which is a threshold where a is a power of two. l1: a row of one code
    below 0 and others that make up for it, found among seeded random rows.
    """
    if kind == "l2":
        powers = [1 << j for j in range(word.bits) if 2 << j <= word.hi]
        return [np.array([0, a, a, 2 * a]) for a in powers] if width == 4 else []
    rng = np.random.default_rng(8)
    found: dict[int, np.ndarray] = {}
    for _ in range(20000):
        row = rng.integers(word.lo, word.hi, width, endpoint=True) // (1 << int(rng.integers(0, word.bits)))
        statistic = int(np.abs(width * row - row.sum()).sum())
        for threshold in thresholds:
            if statistic - threshold in (-1, 0, 1):
                found.setdefault(statistic, row)
    return [found[statistic] for statistic in sorted(found)]


def shift_cases(kind: str) -> Iterator[Case]:
    """Yield the cases of a shift norm."""
    rng = np.random.default_rng(7)

    def case(name, x, fraction, *, gains=(0,), whole=False, extra=()):
        width = x.shape[-1]
        thresholds = shift_thresholds(kind, x.format, width)
        beta = constant("beta", rng.integers(-128, 128, width), Format(8), Scale.of(-fraction))
        gained = tuple(int(g) for g in np.resize(gains, width))
        attributes = {"fraction": fraction, "exponents": gained}
        return Case(name, (x, constant("thresholds", thresholds), beta), attributes, exhaustive=whole, extra=extra)

    yield case("exhaustive", activation("x", (4,), Format(3)), 3, gains=(0, -1, 2, -8), whole=True)
    yield case("exhaustive-widest-gains", activation("x", (3,), Format(4)), 4, gains=(8, -8, 0), whole=True)
    yield case("exhaustive-one-code", activation("x", (1,), Format(8)), 5, whole=True)
    yield case("exhaustive-two-codes", activation("x", (2,), Format(6)), 0, gains=(-8, 1), whole=True)
    yield case("exhaustive-unsigned", activation("x", (2,), Format(5, False)), 5, whole=True)
    ranged = replace(activation("x", (3,), Format(8)), range=Range.of(3, 12))
    yield case("exhaustive-positive-range", ranged, 4, whole=True)
    for width in (4, 7):
        word = Format(8)
        rows = threshold_rows(kind, width, word, shift_thresholds(kind, word, width))
        yield case(f"on-thresholds-{width}", activation("x", (width,), word), 5, extra=tuple((row,) for row in rows))
    word, tokens = Format(8), (2, 65)
    x = activation("x", tokens, word, Scale.of(-4))
    yield case("tokens", x, 5, gains=(-1, 0, 1), extra=telling_rows(tokens, word))
    x = activation("x", (64,), word, Scale.of(-4))
    yield case("one-token", x, 8, gains=(-2, 0, 3), extra=telling_rows((64,), word))
    word = Format(16)
    x = activation("x", (192,), word, Scale.of(-10))
    yield case("past-2**53", x, 10, gains=(0, 8), extra=telling_rows((192,), word))


cases_layer_norm = partial(root_cases, True, False)
cases_layer_norm_recip = partial(root_cases, True, True)
cases_rms_norm = partial(root_cases, False, False)
cases_rms_norm_recip = partial(root_cases, False, True)
cases_shift_norm_l1 = partial(shift_cases, "l1")
cases_shift_norm_l2 = partial(shift_cases, "l2")
