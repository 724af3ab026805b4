"""Codes shifted, rounded and fitted into a word, many at a time: the fast kernel of requantize and of what resembles it.

Every rule of rounding is one formula. With k places to the right,

    y = floor((x 2**left + added + (odd & floor(x / 2**k)) + (x < 0 ? below : 0)) / 2**k)

where half-even has added = 2**(k-1) - 1 and odd = 1, so that only a half above an odd code is carried up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import piece
from mfsim.kernels.simd.wrapping import add, alike, ashr, bit_and, maximum, minimum, shl, width, word_of

NOTHING = (0, 0, 0, 0, 0)
"""The rule (left, places, added, odd, below) of codes that are only clamped."""


class Pooling(NamedTuple):
    """Windows of `rows` by `columns` sums, joined by addition or by their `greatest`; sums below `floor` become it first."""

    rows: int = 1
    columns: int = 1
    greatest: int = 0
    floor: int = -(2**63)


class Epilogue(NamedTuple):
    """What is done to each code of a channel, in the word `word`.

    Attributes
    ----------
    rules : [6, channels] of `word`: left, places, added, odd, below, floor; below `floor`, codes become it at first.
    lo, hi : codes are clamped to these in the end.
    kept : the low bits that are kept instead, negative if they are two's complement; 0 to clamp.
    events : whether codes that do not fit are counted.
    pool : the windows of sums that are joined first, which only convolutions do.
    """

    word: type[Any]
    rules: np.ndarray
    lo: int
    hi: int
    kept: int
    events: bool
    pool: Pooling = Pooling()

    @property
    def plain(self) -> bool:
        """Whether nothing is shifted to the left, kept, or rounded by its sign."""
        return not (self.kept or self.rules[0].any() or self.rules[4].any())


AS_THEY_ARE, PLAIN, ANY = 0, 1, 2
"""How codes are fitted: not at all, as a plain `Epilogue` says, or as any."""


class OneRule(NamedTuple):
    """A `Epilogue` by one rule, as kernels take it; `rules` [6], `lo` and `hi` of one word."""

    how: int
    rules: np.ndarray
    lo: np.signedinteger[Any]
    hi: np.signedinteger[Any]
    kept: int


def one_rule(fit: Epilogue | None, word: type[Any]) -> OneRule:
    """Return how to fit codes of `word`, which holds every number on the way, by the only rule of `fit`.

    Parameters
    ----------
    fit : Epilogue or None
        Its first column of rules is used; None leaves codes as they are.
    word : numpy integer type
        int32 or int64.

    Returns
    -------
    OneRule
        The rule in arrays and numbers of `word`.
    """
    if fit is None:
        return OneRule(AS_THEY_ARE, np.zeros(6, word), word(0), word(0), 0)
    # The lowest code of a word stands for no floor.
    rules = fit.rules[:, 0].astype(word)
    return OneRule(PLAIN if fit.plain else ANY, rules, word(fit.lo), word(fit.hi), fit.kept)


def _rule(shift: int, rounding: str) -> tuple[int, int, int, int, int]:
    """Return left, places, added, odd, below."""
    if shift <= 0:
        return -shift, 0, 0, 0, 0
    half, whole = 1 << (shift - 1), 1 << shift
    added, odd, below = {
        "half_even": (half - 1, 1, 0),
        "half_up": (half, 0, 0),
        "half_away": (half, 0, -1),
        "floor": (0, 0, 0),
        "ceil": (whole - 1, 0, 0),
        "toward_zero": (0, 0, whole - 1),
    }[rounding]
    return 0, shift, added, odd, below


def requantizing(low: int, high: int, attributes: Any, rectified: bool = False) -> Epilogue | None:
    """Return the `Epilogue` of requantize for codes in low..high, where `rectified` after ReLU; None if no word holds it.

    Parameters
    ----------
    low, high : int
        Range of the codes, both ends included.
    attributes : mapping
        Those of `requantize`: `shift` (bits, one or one for each channel), `bits`, `signed`, `narrow`,
        `rounding`, `overflow`.
    rectified : bool
        Whether codes below 0 become 0 first.

    Returns
    -------
    Epilogue or None
        It counts overflows.
    """
    bits, signed, rounding = attributes["bits"], attributes["signed"] == 1, attributes["rounding"]
    rules = [_rule(shift, rounding) for shift in attributes["shift"]]
    lo = -(1 << (bits - 1)) + attributes["narrow"] if signed else 0
    hi = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    kept = 0 if attributes["overflow"] == "saturate" else -bits if signed else bits
    return fitted(low, high, rules, (lo, hi), kept, rectified, True)


def fitted(
    low: int,
    high: int,
    rules: Sequence[tuple[int, int, int, int, int]],
    limits: tuple[int, int],
    kept: int = 0,
    rectified: bool = False,
    events: bool = False,
) -> Epilogue | None:
    """Return a `Epilogue` in the narrowest word that holds every number on the way, None if there is none.

    Parameters
    ----------
    low, high : int
        Range of the codes, both ends included.
    rules : sequence of tuple of int
        (left, places, added, odd, below) of each channel.
    limits : tuple of int
        (lo, hi) that codes are clamped to in the end.
    kept : int
        Low bits that are kept instead, negative for two's complement; 0 to clamp.
    rectified : bool
        Whether codes below 0 become 0 first.
    events : bool
        Whether overflows are counted.

    Returns
    -------
    Epilogue or None
        In int32 or int64.
    """
    numbers = [low, high]
    for left, places, added, _odd, below in rules:
        numbers += [(low << left) + min(below, 0), (high << left) + added + 1 + max(below, 0), 1 << places]
    numbers += [limit for limit, beyond in zip(limits, (limits[0] > high, limits[1] < low), strict=True) if beyond]
    if kept > 0 > min(numbers):
        # The low bits of a negative code are a positive number.
        numbers.append((1 << kept) - 1)
    word = word_of(*numbers)
    if word is None:
        return None
    info = np.iinfo(word)
    if abs(kept) >= info.bits:
        kept = 0
    lo, hi = (min(max(limit, int(info.min)), int(info.max)) for limit in limits)
    floor = 0 if rectified else int(info.min)
    table = np.array([(*rule, floor) for rule in rules], dtype=word).T
    return Epilogue(word, np.ascontiguousarray(table), lo, hi, kept, events)


@kernel
def apply_one(plain, code, left, places, added, odd, below, floor, lo, hi, kept):
    """Return one code fitted, before and after it is clamped or cut; all of one word but `plain` and `kept`.

    `plain` is that of the `Epilogue`: a constant, so that what it spares is not there.

    Parameters
    ----------
    plain : bool, constant
        Whether nothing is shifted to the left, kept, or rounded by its sign.
    code : int32 or int64
        A code.
    left, places : int
        Bits of the left shift, and of the right shift.
    added, odd, below : int
        What rounding adds: always, times the lowest kept bit, and where the code is negative.
    floor : int
        Codes below it become it first.
    lo, hi : int
        Codes are clamped to these in the end.
    kept : int
        Low bits that are kept instead, negative for two's complement; 0 to clamp.

    Returns
    -------
    tuple of int
        The shifted code, and the fitted one; they differ where it overflowed.
    """
    if plain:
        code = maximum(code, floor)
        code = ashr(add(add(code, added), bit_and(ashr(code, places), odd)), places)
        return code, maximum(minimum(code, hi), lo)
    code = shl(maximum(code, floor), left)
    last = alike(code, width(code) - 1)
    carried = add(added, add(bit_and(ashr(code, places), odd), bit_and(ashr(code, last), below)))
    code = ashr(add(code, carried), places)
    if kept == 0:
        return code, maximum(minimum(code, hi), lo)
    if kept > 0:
        return code, bit_and(code, alike(code, (1 << kept) - 1))
    beyond = alike(code, width(code) + kept)
    return code, ashr(shl(code, beyond), beyond)


class Rules(NamedTuple):
    """A `Epilogue` as kernels take it: `rules` [6, columns], `lo` and `hi` of its word."""

    rules: np.ndarray
    lo: Any
    hi: Any
    kept: int
    plain: int


TILE = 512
"""The rules of columns are repeated for about as many codes, as long loops are quicker."""


def rules_of(fit: Epilogue, columns: slice | None = None, width: int = 0) -> Rules:
    """Return the rules of some `columns`, of all by default, repeated where there are several.

    They are filled up to `width` columns, with rules for columns of zeros: 0 is no overflow, whatever is done to it.

    Parameters
    ----------
    fit : Epilogue
        How codes are fitted.
    columns : slice, optional
        Channels, of those that `fit` has rules for.
    width : int
        Least number of columns before they are repeated.

    Returns
    -------
    Rules
        `rules` [6, 1], or [6, a multiple of the columns].
    """
    rules = fit.rules
    if rules.shape[1] > 1:
        some = rules[:, columns or slice(None)]
        rules = np.zeros((len(rules), max(width, some.shape[1])), rules.dtype)
        rules[:, : some.shape[1]] = some
        rules = np.tile(rules, max(1, TILE // rules.shape[1]))
    return Rules(np.ascontiguousarray(rules), fit.word(fit.lo), fit.word(fit.hi), fit.kept, int(fit.plain))


@kernel
def apply_run(source, source_at, size, fitting, column, target, target_at):
    """Fit `size` codes from a flat place of `source` into `target`, and return the overflows.

    All by the rule of one column; or where `column` is -1 each by the next one, again and again.

    Parameters
    ----------
    source : integer array, flat
        Codes.
    source_at, size : int
        First code, and number of codes.
    fitting : Rules
        What `rules_of` returned.
    column : int
        Column of the rule of all codes, or -1 for one column after the other.
    target : integer array, flat
        Written.
    target_at : int
        First place written.

    Returns
    -------
    int
        Codes that did not fit.
    """
    rules, kept, low, high = fitting.rules, fitting.kept, fitting.lo, fitting.hi
    word = rules.dtype.type
    if column >= 0:
        codes, out, found = piece(source, source_at, size), piece(target, target_at, size), word(0)
        left, places, added, odd, below, floor = (
            rules[0, column], rules[1, column], rules[2, column], rules[3, column], rules[4, column], rules[5, column],
        )  # fmt: skip
        if fitting.plain:
            for k in range(size):
                code, fitted_code = apply_one(
                    True, word(codes[k]), left, places, added, odd, below, floor, low, high, kept
                )  # fmt: skip
                found = add(found, word(code != fitted_code))
                out[k] = fitted_code
        else:
            for k in range(size):
                code, fitted_code = apply_one(
                    False, word(codes[k]), left, places, added, odd, below, floor, low, high, kept
                )  # fmt: skip
                found = add(found, word(code != fitted_code))
                out[k] = fitted_code
        return np.int64(found)
    events, tile = 0, rules.shape[1]
    lefts, shifts, more, odds, unders, floors = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
    for at in range(0, size, tile):
        count = min(tile, size - at)
        codes, out, found = piece(source, source_at + at, count), piece(target, target_at + at, count), word(0)
        if fitting.plain:
            for k in range(count):
                code, fitted_code = apply_one(
                    True, word(codes[k]), lefts[k], shifts[k], more[k], odds[k], unders[k], floors[k], low, high, kept
                )  # fmt: skip
                found = add(found, word(code != fitted_code))
                out[k] = fitted_code
        else:
            for k in range(count):
                code, fitted_code = apply_one(
                    False, word(codes[k]), lefts[k], shifts[k], more[k], odds[k], unders[k], floors[k], low, high, kept
                )  # fmt: skip
                found = add(found, word(code != fitted_code))
                out[k] = fitted_code
        events += found
    return events


@kernel
def _apply_rows(x, fitting, channels, y):
    """Fit x [rows, n] into y, row r by the rule of channel r % channels; return the overflows."""
    events, size = 0, x.shape[1]
    for r in range(x.shape[0]):
        events += apply_run(x, r * size, size, fitting, r % channels, y, r * size)
    return events


def fitting(fit, inner):
    """Return a `run` that fits codes whose channel changes every `inner` codes of a sample.

    Parameters
    ----------
    fit : Epilogue
        How codes are fitted, with one rule or one for each channel.
    inner : int
        Codes of a sample from one channel to the next, at least 1.

    Returns
    -------
    callable
        run(inputs, attributes, outputs), which returns the overflows, or None where they are not counted.
    """
    channels, rules = fit.rules.shape[1], rules_of(fit)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0].view(f"i{outputs[0].dtype.itemsize}")  # what does not fit is cut off all the same
        if channels > 1 and inner > 1:
            found = _apply_rows(x.reshape(-1, inner), rules, channels, y.reshape(-1, inner))
        else:
            found = apply_run(x.reshape(-1), 0, x.size, rules, 0 if channels == 1 else -1, y.reshape(-1), 0)
        return found if fit.events else None

    return run
