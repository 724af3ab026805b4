"""accumulator: a word that the user fixed, narrower than the proved one perhaps; y = fit(x).

The grid stays. Without such a node an accumulator has its proved word and nothing can overflow.
`saturate` acts once, on the exact sum; `wrap` keeps the low bits, so it equals wrapping at each step.
"""

from __future__ import annotations

import numpy as np

from mfsim.ir.formats import Format
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.overflow import (
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
from mfsim.ops.traits import Input, Role, Signature, Trait, X


def _derive(tensors, attributes):
    """Return the clamps that the proved range of the input leaves necessary."""
    return {"clamp": fitted_clamp(pairs(tensors[0].range), attributes)}


def _infer(tensors, attributes):
    (x,) = tensors
    bounds = fitted_bounds("accumulator", pairs(x.range), attributes)
    word = Format(attributes["bits"], bool(attributes["signed"]))
    return Inference((result(x.shape, range_of(bounds, x.range.axis), x.scale, "accumulator", word),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    lo, hi = word_limits(attributes)
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        out[index] = fit(x[index], lo, hi, attributes["bits"], bool(attributes["signed"]), attributes["overflow"])
    return [out]


def _count(node, inputs, outputs):
    bits = (inputs[0].format.bits,)
    n = size(inputs[0].shape) * compared_ends(node.attributes["clamp"])
    return rows(node, ("cmp", bits, n), ("select", bits, n))


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
    traits=frozenset({Trait.EPILOGUE, Trait.REQUANTIZES}),
    signature=Signature(
        "Accumulator",
        (
            X,
            Input("scale", Role.SCALE, "accumulator.scale"),
            Input("bit_width", Role.BIT_WIDTH, "accumulator.bit_width"),
        ),
        ("overflow", "signed"),
    ),
    primitives=frozenset({"cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    derive=_derive,
)
