"""rescale: requantize onto a scale that is no power of two away, by a fixed-point multiplication.

    y = saturate(round(x * multiplier / 2**shift)),   multiplier / 2**shift ~ scale(x) / scale(y)

The result's scale is stated; `multiplier` and `shift` follow from it: the ratio of the scales rounded
to `multiplier_bits` bits (fewer where the product would pass 62 bits), trailing zeros removed. So the
exact quotient is missed by at most |x| / 2**(shift + 1) before it is rounded, and the code by at most 1
while |x * multiplier| < 2**(multiplier bits + shift). A channel whose multiplier is 1 is only shifted.
`requantize` is the form without a multiplication.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain

import numpy as np

from mfsim.errors import FormatError, RangeError
from mfsim.ir.formats import Format, Scale
from mfsim.ops.grid.requantize import ROUNDINGS, rounded, shift_rows
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.overflow import CLAMPS, clamped_bounds, compared_ends, needed_clamp, range_of, word_limits
from mfsim.ops.traits import Trait

PRODUCT_BITS = 62
"""Bits of the magnitude of a product; the constant that rounds it still fits int64."""

MAX_SHIFT = 62


def _target(attributes) -> Scale:
    """Return the scale of the result."""
    entries = [attributes[name] for name in ("exponents", "numerators", "denominators")]
    if len({len(entry) for entry in entries}) != 1 or min(entries[2]) < 1:
        raise FormatError("`exponents`, `numerators` and `denominators` of op `rescale` must be equally many")
    factors = tuple(Fraction(n, d) for n, d in zip(*entries[1:], strict=True))
    return Scale(entries[0], None if len(entries[0]) == 1 else attributes["axis"], factors)


def target_attributes(scale: Scale) -> dict[str, tuple[int, ...]]:
    """Return the attributes that state `scale`; a `FormatError` if a factor does not fit them.

    Parameters
    ----------
    scale : Scale
        Target of a rescale.

    Returns
    -------
    dict of tuples of int
        `exponents`, `numerators` and `denominators`, one entry for each scale.

    Raises
    ------
    FormatError
        If a factor needs more than 63 bits.
    """
    factors = scale.factors or (Fraction(1),) * len(scale.exponents)
    if any(f.numerator >= 2**63 for f in factors):
        raise FormatError(f"the factors of the scale {scale} must be fractions of 63-bit integers")
    return {
        "exponents": scale.exponents,
        "numerators": tuple(f.numerator for f in factors),
        "denominators": tuple(f.denominator for f in factors),
    }


def fixed_point(ratio: Fraction, bits: int) -> tuple[int, int]:
    """Return (multiplier, shift): multiplier / 2**shift is the nearest to `ratio` with `bits` bits.

    The shift is at most 62; beyond it the multiplier has fewer bits.

    Parameters
    ----------
    ratio : Fraction
        Positive.
    bits : int
        Bits of the multiplier, at least 1.

    Returns
    -------
    multiplier : int
        In 0..2**bits, odd unless the shift or the multiplier is 0.
    shift : int
        In 0..62.

    Raises
    ------
    RangeError
        If the ratio is not less than 2**bits.
    """
    exponent = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    exponent -= ratio < Fraction(2) ** exponent
    shift = min(bits - 1 - exponent, MAX_SHIFT)
    multiplier = rounded(ratio * Fraction(2) ** shift, "half_even")
    while shift > 0 and multiplier and multiplier % 2 == 0:
        multiplier, shift = multiplier // 2, shift - 1
    if shift < 0:
        raise RangeError(f"a ratio of scales must be less than 2^{bits}, not {float(ratio):g}; rescale in a wider step")
    return multiplier, shift


def _channels(x, attributes) -> int:
    axis = attributes["axis"]
    if axis < 0:
        if x.scale.axis is not None or len(attributes["exponents"]) != 1:
            raise FormatError("`axis` of op `rescale` must be that of the scales")
        return 1
    if axis >= len(x.shape) or x.scale.axis not in (None, axis):
        raise FormatError(f"`axis` of op `rescale` must be that of the scale of x, {x.scale.axis}, not {axis}")
    if len(attributes["exponents"]) not in (1, x.shape[axis]):
        raise FormatError(f"the scale of op `rescale` must have one entry for each index of axis {axis} of {x.shape}")
    return int(x.shape[axis])


def _multipliers(x, attributes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return `multiplier` and `shift` for the scale of x and the stated one."""
    channels = _channels(x, attributes)
    room = PRODUCT_BITS - x.range.bound.bit_length()
    bits = min(attributes["multiplier_bits"], room)
    if not 1 <= attributes["multiplier_bits"] <= 62:
        raise FormatError(f"`multiplier_bits` must be in 1..62, not {attributes['multiplier_bits']}")
    if bits < 1:
        raise RangeError(f"rescale needs a product of more than 63 bits for codes of {x.format}")
    steps = zip(x.scale.steps_along(channels), _target(attributes).steps_along(channels), strict=True)
    pairs = [fixed_point(have / want, bits) for have, want in steps]
    return tuple(m for m, _ in pairs), tuple(s for _, s in pairs)


def _bounds(x, attributes) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int | None]:
    """Return the bounds of the products, those of the rounded codes, and their axis."""
    pairs = list(zip(attributes["multiplier"], attributes["shift"], strict=True))
    axis = attributes["axis"]
    if axis < 0:
        los, his, out_axis = x.range.lo, x.range.hi, x.range.axis
        pairs *= len(los)
    else:
        (los, his), out_axis = x.range.along(axis, x.shape[axis]), axis
    products = [(lo * m, hi * m) for lo, hi, (m, _) in zip(los, his, pairs, strict=True)]
    codes = [
        (
            rounded(Fraction(lo, 2**shift), attributes["rounding"]),
            rounded(Fraction(hi, 2**shift), attributes["rounding"]),
        )
        for (lo, hi), (_, shift) in zip(products, pairs, strict=True)
    ]
    return products, codes, out_axis


def _derive(tensors, attributes):
    """Return multiplier, shift, and the clamps that the proved range leaves necessary."""
    multiplier, shift = _multipliers(tensors[0], attributes)
    _, codes, _ = _bounds(tensors[0], {**attributes, "multiplier": multiplier, "shift": shift})
    return {"multiplier": multiplier, "shift": shift, "clamp": needed_clamp(codes, *word_limits(attributes))}


def _infer(tensors, attributes):
    (x,) = tensors
    needed = _multipliers(x, attributes)
    if (attributes["multiplier"], attributes["shift"]) != needed:
        raise FormatError(f"`multiplier` and `shift` of op `rescale` must be {needed} for its scales")
    products, codes, axis = _bounds(x, attributes)
    bounds = clamped_bounds("rescale", codes, *word_limits(attributes), attributes["clamp"])
    words = {
        "product": Format.of_range(min(a for a, _ in products), max(b for _, b in products), "rescale's product"),
        "rounded": Format.of_range(min(a for a, _ in codes), max(b for _, b in codes), "rescale before its word"),
    }
    word = Format(attributes["bits"], bool(attributes["signed"]))
    return Inference((result(x.shape, range_of(bounds, axis), _target(attributes), "rescale", word),), words)


def _reference(inputs, attributes):
    (x,) = inputs
    lo, hi = word_limits(attributes)
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape):
        channel = index[attributes["axis"]] if attributes["axis"] >= 0 else 0
        quotient = Fraction(x[index] * attributes["multiplier"][channel], 2 ** attributes["shift"][channel])
        out[index] = min(max(rounded(quotient, attributes["rounding"]), lo), hi)
    return [out]


def _count(node, inputs, outputs):
    (x,), attributes = inputs, node.attributes
    channels = len(attributes["shift"])
    per_channel, n = size(x.shape) // channels, size(x.shape)
    multiplied = per_channel * sum(m != 1 for m in attributes["multiplier"])
    product, wide, rounding = node.words["product"].bits, node.words["rounded"].bits, attributes["rounding"]
    products, _, _ = _bounds(x, attributes)
    low, high = min(a for a, _ in products), max(b for _, b in products)
    moved = [
        shift_rows(product, low, high, places, rounding, per_channel * many)
        for places, many in Counter(attributes["shift"]).items()
    ]
    ends = n * compared_ends(attributes["clamp"])
    return rows(
        node,
        ("mul", (x.format.bits, max(*attributes["multiplier"], 1).bit_length()), multiplied, "fixed"),
        *chain(*moved),
        ("cmp", (wide,), ends),
        ("select", (wide,), ends),
    )


OP = Op(
    name="rescale",
    summary="multiply by a fixed-point constant, shift, round, fit into a word: onto any scale",
    attributes=(
        Attribute("exponents", "ints", "of the result's scale; one, or one for each index of `axis`"),
        Attribute("numerators", "ints", "of its factors, equally many"),
        Attribute("denominators", "ints", "of its factors, equally many"),
        Attribute("axis", "int", "channel axis of the scales of x and the result, or -1", -1),
        Attribute("multiplier_bits", "int", "bits of the multiplier, at most", 31),
        Attribute("bits", "int", "word length of the result"),
        Attribute("signed", "int", "1 for two's complement", 1, (0, 1)),
        Attribute("narrow", "int", "1 to leave out the least code of a signed word", 0, (0, 1)),
        Attribute("rounding", "str", "rounding rule", "half_even", ROUNDINGS),
        Attribute("multiplier", "ints", "fixed-point multiplier; one, or one for each channel", derived=True),
        Attribute("shift", "ints", "right shift of the product, equally many", derived=True),
        Attribute("clamp", "str", "ends of the word that have to be compared", None, CLAMPS, derived=True),
    ),
    inputs=("x",),
    traits=frozenset({Trait.REQUANTIZES}),
    primitives=frozenset({"mul", "shift", "or", "addsub", "cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    realisations=frozenset({"kernel", "integer"}),
    derive=_derive,
    held={"plain.mul": "product", "round_shift.return": "rounded"},
)
