"""A slow array that really computes: digit by digit, tile by tile, counting what it does.

It shares no line with `mfsim.cim`; the report must count what happens here, and the sums must be exact.
"""

from __future__ import annotations

from collections import Counter

import numpy as np


def planes_of_word(codes, word, width, signed_lines=False):
    """Return [(weight, digits)] whose weighted sum is `codes`."""
    if signed_lines and word.signed:
        magnitudes = planes_of_bits(abs(codes), (-word.lo).bit_length(), width)
        return [(weight, digits * np.sign(codes)) for weight, digits in magnitudes]
    if not word.signed:
        return planes_of_bits(codes, word.bits, width)
    below = planes_of_bits(codes & (-word.lo - 1), word.bits - 1, width)
    return [*below, (word.lo, (codes < 0).astype(np.int64))]


def planes_of_bits(codes, bits, width):
    """Return the digits of codes without sign."""
    return [(1 << k, codes >> k & (1 << width) - 1) for k in range(0, bits, width)]


def planes_of_sign(codes, zero, possible, signed_lines=False):
    """Return [(weight, digits)], and whether twice the sum minus that of everything is meant."""
    signs = np.sign(codes) + zero * (codes == 0)
    if signed_lines and -1 in possible:
        return [(1, signs)], False
    if possible == {-1, 1}:
        return [(1, (signs > 0).astype(np.int64))], True
    found = [(1, (signs > 0).astype(np.int64))] if 1 in possible else []
    return found + ([(-1, (signs < 0).astype(np.int64))] if -1 in possible else []), False


class Machine:
    """Arrays of one kind with a counter of what they and the adders behind them did."""

    def __init__(self, array):
        self.array, self.did, self.greatest, self.least = array, Counter(), 0, 0

    def product(self, driven, stored, corrected_inputs=None, constants=None):
        """Return sums [vectors, outputs] of driven planes [vectors, terms] by stored planes [terms, outputs].

        `corrected_inputs` says that stored signs are one bit: a column of ones is stored as well.
        `constants` are the sums of the stored words where driven signs are one bit.
        """
        columns = [(o, weight, digits[:, o]) for weight, digits in stored for o in range(digits.shape[1])]
        outputs = stored[0][1].shape[1]
        if corrected_inputs:
            columns.append((outputs, 1, np.ones(len(stored[0][1]), dtype=np.int64)))
        vectors, terms = driven[0][1].shape
        size, width = self.array.terms, self.array.sums
        totals = {}
        for v in range(vectors):
            for input_weight, digits in driven:
                for first in range(0, terms, size):
                    for left in range(0, len(columns), width):
                        self.did["activations"] += 1
                        for o, weight, cells in columns[left : left + width]:
                            self.did["conversions"] += 1
                            value = int(digits[v, first : first + size] @ cells[first : first + size])
                            self.greatest, self.least = max(self.greatest, value), min(self.least, value)
                            self.add(totals, (v, o), input_weight * weight * value)
        for v in range(vectors):
            for o in range(outputs):
                if corrected_inputs:
                    totals[v, o] = 2 * totals[v, o] - totals[v, outputs]
                if constants is not None:
                    totals[v, o] = 2 * totals[v, o] - int(constants[o])
                self.did["adds"] += bool(corrected_inputs) + (constants is not None)
        return np.array([[totals[v, o] for o in range(outputs)] for v in range(vectors)], dtype=object)

    def add(self, totals, place, value):
        """Add to a running sum; the first value needs no adder."""
        self.did["adds"] += place in totals
        totals[place] = totals.get(place, 0) + value
