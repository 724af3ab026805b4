"""neg, fast form: in the word of the result, whole vectors at a time."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.words import sub

FORMS = ("portable",)


@kernel
def negated(x, y):
    """Fill flat y with -x."""
    word = y.dtype.type
    for i in range(x.size):
        y[i] = sub(word(0), word(x[i]))


def prepare(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words."""
    return run


def run(inputs, attributes, outputs):
    """Fill the output."""
    negated(inputs[0].reshape(-1), outputs[0].reshape(-1))
