"""accumulator: a word that the user fixed, narrower than the proved one perhaps; y = fit(x).

The grid stays. Without such a node an accumulator has its proved word and nothing can overflow.
`saturate` acts once, on the exact sum; `wrap` keeps the low bits, so it equals wrapping at each step.
"""

from __future__ import annotations

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.fitting import (
    CLAMPS,
    OVERFLOWS,
    compared_ends,
    fit,
    fitted_bounds,
    fitted_clamp,
    pairs,
    range_of,
    word_limits,
)
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, result, rows, size
from mfsim.program import Tensor, Value


def derive(tensors, attributes):
    """Return the clamps that the proved range of the input leaves necessary."""
    return {"clamp": fitted_clamp(pairs(tensors[0].range), attributes)}


def infer(tensors, attributes):
    (x,) = tensors
    bounds = fitted_bounds("accumulator", pairs(x.range), attributes)
    word = Format(attributes["bits"], bool(attributes["signed"]))
    return Inference((result(x.shape, range_of(bounds, x.range.axis), x.scale, "accumulator", word),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    lo, hi = word_limits(attributes)
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        out[index] = fit(x[index], lo, hi, attributes["bits"], bool(attributes["signed"]), attributes["overflow"])
    return [out]


def count(node, inputs, outputs):
    bits = (inputs[0].format.bits,)
    n = size(inputs[0].shape) * compared_ends(node.attributes["clamp"])
    return rows(node, ("cmp", bits, n), ("select", bits, n))


def cases():
    s9 = activation("x", (1,), Format(9), Scale.of(-5))
    for overflow in OVERFLOWS:
        for bits, signed in ((9, 1), (8, 1), (4, 1), (1, 1), (9, 0), (5, 0), (12, 1)):
            attributes: dict[str, Value] = {"bits": bits, "signed": signed, "overflow": overflow}
            yield Case(f"{overflow}-{'us'[signed]}{bits}", (s9,), attributes, exhaustive=True)
        shifted = Tensor("x", (1, 1), Format(6), Scale(), Range.of(9, 21))
        yield Case(f"{overflow}-offset", (shifted,), {"bits": 4, "overflow": overflow}, exhaustive=True)
        channels = Range((-40, -7, 3, -30), (-20, 7, 30, 40), 1)
        x = Tensor("x", (1, 4, 2), Format(8), Scale((0, 1, 2, 3), 1), channels)
        yield Case(f"{overflow}-per-channel", (x,), {"bits": 4, "overflow": overflow})
        ends = tuple((np.array([v, -v]),) for v in (2**53, 2**53 + 1, 2**55 - 1, 2**55, 2**55 + 1))
        wide = activation("x", (2,), Format(63))
        yield Case(f"{overflow}-wide", (wide,), {"bits": 56, "overflow": overflow}, extra=ends)
        yield Case(f"{overflow}-wide-unsigned", (wide,), {"bits": 61, "signed": 0, "overflow": overflow})


OP = Op(
    name="accumulator",
    summary="fit an exact sum into a fixed accumulator word",
    attributes=(
        Attribute("bits", "int", "word length of the accumulator"),
        Attribute("signed", "int", "1 for two's complement", 1, (0, 1)),
        Attribute("overflow", "str", "overflow rule", "saturate", OVERFLOWS),
        Attribute("clamp", "str", "ends of the word that have to be compared", None, CLAMPS, derived=True),
    ),
    inputs=("x",),
    primitives=frozenset({"cmp", "select"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    derive=derive,
)
