"""csd_gain: multiply by fixed constants as sums of few shifted copies: y = x * c, one c or one for each index of `axis`.

A constant is written in canonical signed digits, c = sum_i s_i 2**p_i with s_i = +-1 and no two neighbouring
places, which is the shortest such sum; no constant has more than `digits` of them. A code costs one shift for
each digit above place 0, one addition or subtraction less than digits, and one negation if all digits are
negative. A constant of 0 costs nothing. The result lies on the grid scale(x) * scale(c).

Sources: Reitwiesner, "Binary Arithmetic", Advances in Computers 1, 1960 (the digits are unique and fewest);
Hartley, "Subexpression sharing in filters using canonic signed digit multipliers", IEEE TCAS-II 43(10), 1996.
"""

from __future__ import annotations

from fractions import Fraction

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range
from mfsim.ir.program import Tensor
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.signed_digits import signed_digits
from mfsim.ops.traits import Input, Role, Signature, X

MOST_DIGITS = 32
"""A word of 63 bits has no constant with more canonical digits."""


def nearest_digits(value: float, digits: int) -> Fraction:
    """Return a sum of at most `digits` signed powers of two near `value`: each the nearest to what is left.

    The relative error is at most 3**-digits, because a power of two is within a third of any number.

    >>> nearest_digits(0.7, 1), nearest_digits(0.7, 2), nearest_digits(-1.5, 3)
    (Fraction(1, 2), Fraction(3, 4), Fraction(-3, 2))

    Parameters
    ----------
    value : float
        Any finite number.
    digits : int
        The most powers of two that are added.

    Returns
    -------
    Fraction
        Exact.
    """
    total, rest = Fraction(0), Fraction(value)
    for _ in range(digits):
        if not rest:
            break
        size, power = abs(rest), Fraction(1)
        while power * 2 <= size:
            power *= 2
        while power > size:
            power /= 2
        power = 2 * power if size - power >= 2 * power - size else power
        total += power if rest > 0 else -power
        rest = Fraction(value) - total
    return total


def _check(x: Tensor, c: Tensor, digits: int, axis: int) -> list[int]:
    if c.codes is None:
        raise FormatError("the gain of op `csd_gain` must be a constant")
    if axis >= 0 and not 0 < axis < len(x.shape):
        raise ShapeError(f"`axis` of op `csd_gain` must be -1 or in 1..{len(x.shape) - 1}, not {axis}")
    wanted = (1,) if axis < 0 else (x.shape[axis],)
    if c.shape not in ((1,), wanted):
        raise ShapeError(f"the gain of op `csd_gain` must have the shape {wanted}, not {c.shape}")
    if not 1 <= digits <= MOST_DIGITS:
        raise FormatError(f"`digits` of op `csd_gain` must be in 1..{MOST_DIGITS}, not {digits}")
    codes = [int(code) for code in c.codes]
    for code in codes:
        if len(signed_digits(code)) > digits:
            raise FormatError(
                f"a gain of op `csd_gain` must have at most {digits} signed digits, and {code} has {len(signed_digits(code))}"
            )
    return codes


def _infer(tensors, attributes):
    x, c = tensors
    axis = attributes["axis"]
    codes = _check(x, c, attributes["digits"], axis)
    if len(codes) == 1:
        out_axis, los, his = x.range.axis, x.range.lo, x.range.hi
        codes = codes * len(los)
    else:
        out_axis = axis
        los, his = x.range.along(axis, x.shape[axis])
    ends = [sorted((lo * code, hi * code)) for lo, hi, code in zip(los, his, codes, strict=True)]
    range_ = Range(tuple(e[0] for e in ends), tuple(e[1] for e in ends), out_axis)
    least = greatest = 0
    for lo, hi, code in zip(los, his, codes, strict=True):
        terms = [sorted((lo * sign << place, hi * sign << place)) for place, sign in signed_digits(code)]
        least = min(least, sum(min(t[0], 0) for t in terms))
        greatest = max(greatest, sum(max(t[1], 0) for t in terms))
    scale = x.scale.moved(c.scale.exponents, axis if c.scale.axis is not None else None)
    words = {"acc": Format.of_range(least, greatest, "the accumulator")}
    tight = x.range.axis in (None, axis) or c.shape == (1,)
    return Inference((result(x.shape, range_, scale, "csd_gain"),), words, tight)


def _reference(inputs, attributes):
    x, c = inputs
    view = [1] * x.ndim
    if len(c) > 1:
        view[attributes["axis"]] = len(c)
    return [x * c.reshape(view)]


def _count(node, inputs, outputs):
    x, c = inputs
    each = size(x.shape) // len(c.codes)
    shifts = additions = negations = 0
    for code in c.codes:
        digits = signed_digits(int(code))
        shifts += sum(place > 0 for place, _ in digits)
        additions += max(len(digits) - 1, 0)
        negations += bool(digits) and all(sign < 0 for _, sign in digits)
    bits, acc = x.format.bits, node.words["acc"].bits
    return rows(
        node,
        ("shift", (bits,), each * shifts),
        ("addsub", (acc, acc), each * additions),
        ("neg", (acc,), each * negations),
    )


OP = Op(
    name="csd_gain",
    summary="multiply by constants of few canonical signed digits, as shifts and additions",
    attributes=(
        Attribute("digits", "int", "most signed digits of a constant"),
        Attribute("axis", "int", "channel axis of the constants, or -1", -1),
    ),
    inputs=("x", "c"),
    roles={"c": Role.GAIN},
    signature=Signature("CsdGain", (X, Input("C", Role.GAIN, "gain")), ("digits",)),
    primitives=frozenset({"shift", "addsub", "neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    held={"product.total": "acc"},
)
