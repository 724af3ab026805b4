"""gain: y = x * gain, by relabelling the grid: the codes stay, nothing is computed.

The gain is a positive rational number, one or one for each index of `axis`. It is what a third-party file
multiplies by (a scale, a batch norm, one over an area); whoever needs the result on another grid then
rescales it, with a multiplication that is counted there. For powers of two there is `shift`.
"""

from __future__ import annotations

from fractions import Fraction

from mfsim.errors import FormatError
from mfsim.ops.op import Attribute, Inference, Op, no_operations, result
from mfsim.ops.traits import Trait

LIMIT = 2**63
"""Numerators and denominators are attributes of 64 bits."""


def _gains(attributes) -> list[Fraction]:
    """Return the gains, checked."""
    pairs = attributes["numerators"], attributes["denominators"]
    if len(pairs[0]) != len(pairs[1]) or not pairs[0]:
        raise FormatError("`numerators` and `denominators` of op `gain` must be equally many")
    if min(*pairs[0], *pairs[1]) < 1:
        raise FormatError("`numerators` and `denominators` of op `gain` must be at least 1")
    return [Fraction(n, d) for n, d in zip(*pairs, strict=True)]


def attributes_for(values: list[Fraction], axis: int) -> dict[str, object]:
    """Return the attributes for gains along `axis` (-1 for one gain), rounded to 53 bits where they are longer.

    Parameters
    ----------
    values : list of Fraction
        Positive gains: one, or one for each index of `axis`.
    axis : int
        Axis of x, or -1.

    Returns
    -------
    dict
        `numerators` and `denominators`, tuples of ints in 1..2**63 - 1, and `axis`, which is -1 where all gains
        agree.

    Raises
    ------
    FormatError
        If a gain is beyond 2**-62..2**62.
    """
    kept = []
    for value in values:
        fits = value.numerator < LIMIT and value.denominator < LIMIT
        rounded = value if fits else Fraction(float(value))
        if rounded.numerator >= LIMIT or rounded.denominator >= LIMIT:
            rounded = rounded.limit_denominator(LIMIT - 1)
        if not 0 < rounded.numerator < LIMIT:
            raise FormatError(f"a gain must be in 2^-62..2^62, not {float(value)!r}")
        kept.append(rounded)
    if len(set(kept)) == 1:
        kept, axis = kept[:1], -1
    return {
        "numerators": tuple(k.numerator for k in kept),
        "denominators": tuple(k.denominator for k in kept),
        "axis": axis,
    }


def _infer(tensors, attributes):
    (x,) = tensors
    values, axis = _gains(attributes), attributes["axis"]
    if axis < 0:
        if len(values) != 1:
            raise FormatError("op `gain` must have one gain when `axis` is -1")
    elif not 0 < axis < len(x.shape) or len(values) != x.shape[axis]:
        raise FormatError(f"op `gain` must have one gain for each index of axis {axis} of {x.shape}")
    scale = x.scale.times(values, axis if axis >= 0 else None)
    return Inference((result(x.shape, x.range, scale, "gain", x.format),), tight=True)


def _reference(inputs, attributes):
    return [inputs[0]]


OP = Op(
    name="gain",
    summary="multiply by a positive constant by relabelling the grid",
    attributes=(
        Attribute("numerators", "ints", "of the gain; one, or one for each index of `axis`"),
        Attribute("denominators", "ints", "of the gain, equally many"),
        Attribute("axis", "int", "channel axis of the gain, or -1", -1),
    ),
    inputs=("x",),
    traits=frozenset({Trait.VIEW}),
    primitives=frozenset(),
    infer=_infer,
    reference=_reference,
    count=no_operations,
    realisations=frozenset({"kernel", "integer"}),
)
