"""relu, fast form."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.fits import NOTHING, fitted, fitting
from mfsim.kernels.words import WORDS, word_of

FORMS = ("portable",)


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands; with `after`, the `Fit` of its result, None if no word or rule will do."""
    x = inputs[0]
    if after is None:
        return fitting(fitted(x.low, x.high, [NOTHING], (0, max(x.high, 0))), 1)
    word = word_of(x.low, x.high)
    if word is None or after.rules.shape[1] > 1:
        return None
    word = max(word, after.word, key=WORDS.index)
    rules = after.rules.astype(word)
    rules[-1] = np.maximum(rules[-1], 0)
    return fitting(after._replace(word=word, rules=rules), 1)
