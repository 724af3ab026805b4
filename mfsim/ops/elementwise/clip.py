"""clip: y = min(max(x, lo), hi), with the bounds as codes on the scale of x.

An end that the proved range never passes is not compared (`clamp`).
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.overflow import CLAMPS, clamped_bounds, compared_bits, compared_ends, needed_clamp, pairs, range_of
from mfsim.ops.traits import Trait


def _derive(tensors, attributes):
    """Return the clamps that the proved range of the input leaves necessary."""
    return {"clamp": needed_clamp(pairs(tensors[0].range), attributes["lo"], attributes["hi"])}


def _infer(tensors, attributes):
    (x,) = tensors
    lo, hi = attributes["lo"], attributes["hi"]
    if lo > hi:
        raise FormatError(f"`lo` of op `clip` must be at most `hi`, not {lo} with {hi}")
    if x.scale.axis is not None:
        raise FormatError(f"op `clip` needs one scale for the whole tensor, not {x.scale}; requantize first")
    Format.of_range(min(lo, 0), max(hi, 0), "a bound of op `clip`")
    bounds = clamped_bounds("clip", pairs(x.range), lo, hi, attributes["clamp"])
    return Inference((result(x.shape, range_of(bounds, x.range.axis), x.scale, "clip"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    return [np.minimum(np.maximum(x, attributes["lo"]), attributes["hi"]).astype(object)]


def _count(node, inputs, outputs):
    (x,), attributes = inputs, node.attributes
    bits = (compared_bits(x, attributes["lo"], attributes["hi"], attributes["clamp"]),)
    n = size(x.shape) * compared_ends(attributes["clamp"])
    return rows(node, ("cmp", bits, n), ("select", bits, n))


OP = Op(
    name="clip",
    summary="min(max(x, lo), hi)",
    attributes=(
        Attribute("lo", "int", "least code of the result"),
        Attribute("hi", "int", "greatest code of the result"),
        Attribute("clamp", "str", "ends that have to be compared", None, CLAMPS, derived=True),
    ),
    inputs=("x",),
    traits=frozenset({Trait.CLIPS}),
    primitives=frozenset({"cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    derive=_derive,
)
