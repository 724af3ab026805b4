"""shift: y = x * 2**exponents, by relabelling the grid: the codes stay, nothing is computed.

One exponent, or one for each index of `axis` (a gain of a power of two for each channel).
"""

from __future__ import annotations

from mfsim.errors import FormatError
from mfsim.ops.op import Attribute, Inference, Op, no_operations, result
from mfsim.ops.traits import Input, Role, Signature, Trait, X


def _infer(tensors, attributes):
    (x,) = tensors
    exponents, axis = attributes["exponents"], attributes["axis"]
    if axis < 0:
        if len(exponents) != 1:
            raise FormatError("`exponents` of op `shift` must be one int when `axis` is -1")
    elif not 0 < axis < len(x.shape) or len(exponents) != x.shape[axis]:
        raise FormatError(f"`exponents` of op `shift` must have one int for each index of axis {axis} of {x.shape}")
    scale = x.scale.moved(exponents, axis if axis >= 0 else None)
    return Inference((result(x.shape, x.range, scale, "shift", x.format),), tight=True)


def _reference(inputs, attributes):
    return [inputs[0]]


OP = Op(
    name="shift",
    summary="multiply by a power of two by relabelling the grid",
    attributes=(
        Attribute("exponents", "ints", "log2 of the gain; one, or one for each index of `axis`"),
        Attribute("axis", "int", "channel axis of `exponents`, or -1", -1),
    ),
    inputs=("x",),
    traits=frozenset({Trait.KEEPS_GRID, Trait.VIEW}),
    signature=Signature("Shift", (X, Input("gain", Role.GAIN))),
    primitives=frozenset(),
    infer=_infer,
    reference=_reference,
    count=no_operations,
)
