"""Fast kernels of softmax and tanh-l1."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.operands import Operand
from mfsim.kernels.rows.packed import CACHED_CODES, pack, packed, unpack
from mfsim.kernels.rows.quotients import BITS, DIVISION, RECIPROCAL, SHIFT, Quotient, factor_of, multiply_add, with_sign
from mfsim.kernels.rows.search import search_table
from mfsim.kernels.simd.wrapping import add, bit_and, maximum, minimum, shl, sub, word_of
from mfsim.ops.softmax.kernels import logarithm

# What the fast kernels of softmax and tanh-l1 share: the terms of a row, and their quotients by its sum.
#
# All that happens to a code on its way to a term is looked up at once. For softmax the table has a term for each
# distance from the maximum that the proved range of x allows, the greatest first; for tanh one for each code, with
# its sign. Entry 0, in front of them, is the term of what a row does not see.

MOST_CODES = 1 << 16
"""The greatest number of codes in a range of x that has such a table."""


class Terms(NamedTuple):
    """How a row finds its terms.

    Attributes
    ----------
    table : of one axis, as described above.
    by_distance : whether the greatest code of each row gets the last entry, and not the greatest code of the range.
    before : the code before the least one of x.
    start, least : a sum is `start` and the magnitudes of the terms, and at least `least`.
    """

    table: np.ndarray
    by_distance: bool
    before: int
    start: int
    least: int

    @classmethod
    def of_distances(cls, x: Operand, table: np.ndarray) -> Terms | None:
        """Return the terms of a softmax of x by a table of exp, or None if x has too many codes.

        Parameters
        ----------
        x : Operand; codes of the rows, with their proved range
        table : int64 array, shape (entries,); exp of distances from the greatest code of a row

        Returns
        -------
        Terms or None
            None where the range has more than `MOST_CODES` codes.
        """
        if x.high - x.low >= MOST_CODES:
            return None
        distances = np.arange(x.high - x.low, -1, -1)
        return cls(_behind_zero(table[np.minimum(distances, table.size - 1)]), True, x.low - 1, 0, int(table[0]))

    @classmethod
    def of_codes(cls, x: Operand, table: np.ndarray, eps: int) -> Terms | None:
        """Return the terms of a tanh-l1 likewise, by a table of tanh of magnitudes.

        Parameters
        ----------
        x : Operand; codes of the rows, with their proved range
        table : int64 array, shape (entries,); tanh of magnitudes from 0 on
        eps : int; added to each sum of magnitudes

        Returns
        -------
        Terms or None
            None where the range has more than `MOST_CODES` codes.
        """
        if x.high - x.low >= MOST_CODES:
            return None
        codes = np.arange(x.low, x.high + 1)
        entries = np.sign(codes) * table[np.minimum(np.abs(codes), table.size - 1)]
        return cls(_behind_zero(entries), False, x.low - 1, eps, eps)

    @property
    def greatest(self) -> int:
        """The greatest magnitude of a term."""
        return int(np.abs(self.table).max())

    def greatest_sum(self, length: int) -> int:
        """Return the greatest sum of a row of `length` terms.

        Parameters
        ----------
        length : int; entries of a row, at least 1

        Returns
        -------
        int
            In units of the table.
        """
        return max(self.start + length * self.greatest, self.least)


def _behind_zero(entries: np.ndarray) -> np.ndarray:
    return np.concatenate((np.zeros(1, np.int64), entries))


@kernel
def _locate(part, length, mask, at, before, by_distance, last):
    """Replace the codes of whole rows of `length` by places in a table with the entries 0 .. `last`.

    The first row is masked by row `at` of `mask`: 0 for what is hidden, else -1; or the rows of `mask` are empty.
    Returns the row of `mask` for the next row.
    """
    masked, lowest = mask.shape[1] > 0, before
    if masked or not by_distance:
        lowest = sub(before, before)
        for i in range(part.size):
            part[i] = sub(part[i], before)
    for start in range(0, part.size, length):
        row = part[start : start + length]
        if masked:
            for i in range(length):
                row[i] = bit_and(row[i], mask[at, i])
        if by_distance:
            greatest = lowest
            for i in range(length):
                greatest = maximum(greatest, row[i])
            offset = sub(last, greatest)
            for i in range(length):
                row[i] = add(row[i], offset)
            if masked:
                for i in range(length):
                    row[i] = bit_and(row[i], mask[at, i])
        at = at + 1 if at + 1 < mask.shape[0] else 0
    return at


@kernel
def _weigh(x, y, rows, length, mask, terms, quotient):
    """Fill `rows` rows of y from those of x, both `packed`; the rows of `mask` are taken in turn, see `locate`."""
    word = terms.table.dtype.type
    before, last, none = word(terms.before), word(terms.table.size - 1), word(0)
    room = max(CACHED_CODES // length, 1)
    codes = np.empty(room * length, terms.table.dtype)
    at = 0
    for first in range(0, rows, room):
        part = codes[: min(room, rows - first) * length]
        unpack(x, first * length, part)
        at = _locate(part, length, mask, at, before, terms.by_distance, last)
        for i in range(part.size):
            part[i] = terms.table[np.uint32(part[i])]
        for start in range(0, part.size, length):
            row = part[start : start + length]
            total = none
            for i in range(length):
                total = add(total, maximum(row[i], sub(none, row[i])))
            factor, half = factor_of(max(terms.start + np.int64(total), terms.least), quotient)
            for i in range(length):
                term = np.float64(row[i])
                row[i] = word(multiply_add(term, factor, with_sign(half, term)))
        pack(part, y, first * length)


def _mask_of(inputs, without, word):
    """Return a function from the arrays of a call to the rows of its mask; `without` inputs come before a mask."""
    if len(inputs) == without:
        none = np.empty((1, 0), word)
        return lambda arrays: none
    codes = inputs[without].codes
    if codes is None:
        return lambda arrays: _hiding(np.broadcast_to(arrays[without], arrays[0].shape), word)
    constant = _hiding(codes, word)
    return lambda arrays: constant


def _hiding(mask, word):
    return np.negative(mask.astype(word, order="C")).reshape(-1, mask.shape[-1])


def _prepared(inputs, outputs, without, terms, quotient, numerator):
    """Return the `run` of a form whose numerators are at most `numerator`, or None if they are too long for it.

    `without` inputs come before a mask. `terms` may be None, and then there is none.
    """
    if terms is None or numerator.bit_length() > BITS[quotient.form]:
        return None
    x, y, length = inputs[0], outputs[0], inputs[0].shape[-1]
    word = word_of(terms.before, x.high, terms.greatest_sum(length), y.low, y.high)
    mask, terms = _mask_of(inputs, without, word), terms._replace(table=terms.table.astype(word))

    def run(arrays, attributes, results):
        x = arrays[0]
        _weigh(packed(x), packed(results[0]), x.size // length, length, mask(arrays), terms, quotient)

    return run


def _divided(inputs, outputs, terms, fraction):
    """Return the `run` of a form that divides by the sum of a row; its inputs are x, a table and perhaps a mask."""
    numerator = 0 if terms is None else (terms.greatest << fraction + 1) + terms.greatest_sum(inputs[0].shape[-1])
    return _prepared(inputs, outputs, 2, terms, Quotient(DIVISION, math.ldexp(1.0, fraction)), numerator)


def _shifted(inputs, outputs, terms, fraction):
    """Return the `run` of a form that shifts, with thresholds of the sum between table and mask."""
    thresholds = inputs[2].codes
    numerator = 0 if terms is None else (terms.greatest << fraction + 1) + (1 << thresholds.size)
    return _prepared(
        inputs, outputs, 3, terms, Quotient(SHIFT, math.ldexp(1.0, fraction), 0, search_table(thresholds)), numerator
    )


# softmax, fast kernel: terms times one number for their row, in float64 and exact.

SOFTMAX_ISAS = ("portable",)


def prepare_softmax(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand; x [..., n]; table of exp; perhaps a mask; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `fraction`, `clamp`, `hidden`

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _divided(inputs, outputs, Terms.of_distances(inputs[0], inputs[1].codes), attributes["fraction"])


# softmax_recip, fast kernel: terms times the reciprocal of their row, in float64 and exact.

SOFTMAX_RECIP_ISAS = ("portable",)


def prepare_softmax_recip(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand; x [..., n]; table of exp; perhaps a mask; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `fraction`, `reciprocal`, `clamp`, `hidden`

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    fraction, power = attributes["fraction"], attributes["reciprocal"]
    terms = Terms.of_distances(inputs[0], inputs[1].codes)
    # A term times the reciprocal of a sum that holds it is at most 2**power.
    numerator = (1 << power) + (1 << power - fraction - 1)
    return _prepared(
        inputs, outputs, 2, terms, Quotient(RECIPROCAL, math.ldexp(1.0, fraction - power), power), numerator
    )


# softmax_shift, fast kernel: terms times a power of two for their row, in float64 and exact.

SOFTMAX_SHIFT_ISAS = ("portable",)


def prepare_softmax_shift(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand; x [..., n]; table of exp; thresholds; perhaps a mask; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `fraction`, `clamp`, `hidden`

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _shifted(inputs, outputs, Terms.of_distances(inputs[0], inputs[1].codes), attributes["fraction"])


# softmax_log, fast kernel: terms only for their sum; the place of each result from that of the term.

SOFTMAX_LOG_ISAS = ("portable",)


@kernel
def _weigh_log(x, y, rows, length, mask, terms, thresholds, lnk, lnm, out, places, fine):
    """Fill `rows` rows of y from those of x, both `packed`; `places` is P - M, `fine` is g.

    `out` starts with the result of what a row does not see.
    """
    word = out.dtype.type
    before, last, end = word(terms.before), word(terms.table.size - 1), word(out.size - 1)
    room = max(CACHED_CODES // length, 1)
    codes = np.empty(room * length, out.dtype)
    at = 0
    for first in range(0, rows, room):
        part = codes[: min(room, rows - first) * length]
        unpack(x, first * length, part)
        at = _locate(part, length, mask, at, before, True, last)
        for start in range(0, part.size, length):
            row = part[start : start + length]
            total = np.int64(0)
            for i in range(length):
                total += terms.table[np.uint32(row[i])]
            log = word(1 + logarithm(max(total, terms.least), thresholds, lnk, lnm, places))
            for i in range(length):
                place = minimum(add(shl(sub(last, row[i]), word(fine)), log), end)
                row[i] = place if row[i] else word(0)
        for i in range(part.size):
            part[i] = out[np.uint32(part[i])]
        pack(part, y, first * length)


def prepare_softmax_log(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if x has too many codes.

    Parameters
    ----------
    inputs : list of Operand
        x [..., n]; table of exp; thresholds; tables of ln k, of ln m and of the result; perhaps a mask; shapes
        are those of one sample.
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `fraction`, `fine_bits`, `clamp`, `clamp_out`, `hidden`

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    x, table, thresholds, lnk, lnm, out = (operand.codes if k else operand for k, operand in enumerate(inputs[:6]))
    terms = Terms.of_distances(x, table)
    if terms is None:
        return None
    length, fine = x.shape[-1], attributes["fine_bits"]
    places = terms.least.bit_length() - (lnm.size - 1).bit_length()
    place = (terms.table.size << fine) + int(lnk.max()) + int(lnm.max())
    word = word_of(terms.before, x.high, place, int(out.max()))
    mask, search = _mask_of(inputs, 6, word), search_table(thresholds)
    lnk, lnm, out = np.array(lnk), np.array(lnm), np.append(0, out).astype(word)

    def run(arrays, attributes, results):
        rows = arrays[0].size // length
        given = (packed(arrays[0]), packed(results[0]), rows, length, mask(arrays), terms, search, lnk, lnm, out)
        _weigh_log(*given, places, fine)

    return run


# tanh_l1, fast kernel: signed terms times one number for their row, in float64 and exact.

TANH_L1_ISAS = ("portable",)


def prepare_tanh_l1(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand; x [..., n]; table of tanh; perhaps a mask; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `fraction`, `eps`, `clamp`

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    terms = Terms.of_codes(inputs[0], inputs[1].codes, attributes["eps"])
    return _divided(inputs, outputs, terms, attributes["fraction"])


# tanh_l1_shift, fast kernel: signed terms times a power of two for their row, in float64 and exact.

TANH_L1_SHIFT_ISAS = ("portable",)


def prepare_tanh_l1_shift(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand; x [..., n]; table of tanh; thresholds; perhaps a mask; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `fraction`, `eps`, `clamp`

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    terms = Terms.of_codes(inputs[0], inputs[1].codes, attributes["eps"])
    return _shifted(inputs, outputs, terms, attributes["fraction"])
