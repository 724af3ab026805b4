"""gram, fast form for words of 8 bits: an exact int8 product of x with its own rows as columns."""

from __future__ import annotations

from mfsim.kernels import fast_transpose, int8_batched
from mfsim.kernels.int8_parts import dense_sums
from mfsim.kernels.int8_product import LAYOUTS, scratch

FORMS = tuple(LAYOUTS)


def prepare(inputs, outputs, attributes):
    """Return a `run`, or None if some word is wider than 8 bits, or has 8 without a sign."""
    (x,), (*outer, rows, length) = inputs, inputs[0].shape
    columns = x._replace(shape=(*outer, length, rows))
    ends, y = (x.low, x.high), (outputs[0].low, outputs[0].high)
    multiply = int8_batched.prepared(
        x, columns, lambda w, bias, probe, run: dense_sums(ends, w, bias, y, run, probe), None
    )
    if multiply is None:
        return None
    last = len(x.shape)
    perm = {"perm": (*range(last - 1), last, last - 1)}
    turn = fast_transpose.prepare(inputs, [columns], perm)

    def run(inputs, attributes, outputs):
        x = inputs[0]
        turned = scratch.get("turned rows", (len(x), *columns.shape), x.dtype)
        turn([x], perm, [turned])
        multiply([x, turned], attributes, outputs)

    return run
