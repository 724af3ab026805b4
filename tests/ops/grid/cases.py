"""Conformance cases of the ops that change a grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor, Value
from mfsim.ops.grid.requantize import ROUNDINGS
from mfsim.ops.grid.rescale import target_attributes
from mfsim.ops.op import Case, activation, constant
from mfsim.ops.overflow import OVERFLOWS

# requantize: the only place where precision is lost on purpose.
#
#     y = fit(round(x / 2**shift)),   scale(y) = scale(x) * 2**shift
#
# `fit` saturates or wraps into the word (bits, signed); with `narrow` the least code is left out, so
# that a signed word is symmetric. A negative shift multiplies exactly by a power of two.


def cases_requantize():
    def case(name, x, exhaustive=False, **attributes):
        defaults: dict[str, Value] = {"shift": (2,), "bits": 4, "signed": 1}
        return Case(name, (x,), defaults | attributes, exhaustive=exhaustive)

    one = activation("x", (1,), Format(8))
    for rounding in ROUNDINGS:
        for overflow in OVERFLOWS:
            yield case(f"{rounding}-{overflow}", one, True, rounding=rounding, overflow=overflow)
            yield case(f"{rounding}-{overflow}-unsigned", one, True, rounding=rounding, overflow=overflow, signed=0)
    yield case("narrow", one, True, narrow=1)
    yield case("left", one, True, shift=(-3,), bits=9)
    yield case("zero-shift", one, True, shift=(0,), bits=5)
    yield case("fits", one, True, shift=(1,), bits=8)
    yield case("far", one, True, shift=(12,), bits=3)
    wide = activation("x", (3, 2), Format(50), Scale((-3, -5, -4), 1))
    ties = tuple((np.array([[k * (1 << 19), 1 << 20], [7, -(1 << 19)], [3 << 19, 0]]),) for k in (-3, -1, 1, 3))
    yield Case("per-channel", (wide,), {"shift": (20, 22, 21), "axis": 1, "bits": 12, "signed": 1}, extra=ties)


# rescale: requantize onto a scale that is no power of two away, by a fixed-point multiplication.
#
#     y = saturate(round(x * multiplier / 2**shift)),   multiplier / 2**shift ~ scale(x) / scale(y)
#
# The result's scale is stated; `multiplier` and `shift` follow from it: the ratio of the scales rounded
# to `multiplier_bits` bits (fewer where the product would pass 62 bits), trailing zeros removed. So the
# exact quotient is missed by at most |x| / 2**(shift + 1) before it is rounded, and the code by at most 1
# while |x * multiplier| < 2**(multiplier bits + shift). A channel whose multiplier is 1 is only shifted.
# `requantize` is the form without a multiplication.


def cases_rescale():
    def case(name, x, step, exhaustive=True, extra=(), axis=-1, **attributes):
        steps = step if isinstance(step, list) else [step]
        scale = target_attributes(Scale.of_steps(steps, axis if len(steps) > 1 else None))
        given = {"bits": 4, "axis": axis, "multiplier_bits": 8} | scale | attributes
        return Case(name, (x,), given, exhaustive, extra)

    one = activation("x", (1,), Format(8), Scale.of_steps([0.3]))
    for rounding in ROUNDINGS:
        yield case(rounding, one, 1.1, rounding=rounding)
    yield case("unsigned", one, 0.7, signed=0)
    yield case("narrow", one, 0.7, narrow=1)
    yield case("fits", one, 0.5, bits=9)
    yield case("finer", one, 0.01, bits=14, multiplier_bits=12)
    yield case("power-of-two", one, 0.075, bits=8)
    yield case("one-bit-multiplier", one, 0.8, multiplier_bits=1)
    yield case("far", one, 2.0**70, bits=2)
    wide = activation("x", (3, 2), Format(24), Scale.of_steps([0.1, 0.7, 0.25], 1))
    yield case("per-channel", wide, 30.7, False, axis=1, bits=12, multiplier_bits=31)
    yield case("to-channels", wide, [1000.0, 0.7, 64.0], False, axis=1, bits=20, multiplier_bits=31)
    ties = tuple((np.array([k]),) for k in (-6, -2, 2, 6, 10))
    yield case("ties", activation("x", (1,), Format(40), Scale.of(-2)), 3.0, False, ties, bits=8, multiplier_bits=31)
    yield case("product-of-62-bits", activation("x", (2,), Format(50)), 3.7e9, False, bits=20, multiplier_bits=31)


# accumulator: a word that the user fixed, narrower than the proved one perhaps; y = fit(x).
#
# The grid stays. Without such a node an accumulator has its proved word and nothing can overflow.
# `saturate` acts once, on the exact sum; `wrap` keeps the low bits, so it equals wrapping at each step.


def cases_accumulator():
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


# shift: y = x * 2**exponents, by relabelling the grid: the codes stay, nothing is computed.
#
# One exponent, or one for each index of `axis` (a gain of a power of two for each channel).


def cases_shift():
    x = activation("x", (1,), Format(6), Scale.of(-3))
    yield Case("left", (x,), {"exponents": (4,)}, exhaustive=True)
    yield Case("right", (x,), {"exponents": (-7,)}, exhaustive=True)
    per_channel = activation("x", (3, 2), Format(63), Scale((-3, -5, -4), 1))
    yield Case("per-channel", (per_channel,), {"exponents": (1, 3, 0), "axis": 1})
    yield Case("moves-all-channels", (per_channel,), {"exponents": (2,)})
    ranged = Tensor("x", (1, 2, 2), Format(8), Scale(), Range((-3, 0), (2, 9), 2))
    yield Case("per-channel-range", (ranged,), {"exponents": (0, -1), "axis": 1})


# gain: y = x * gain, by relabelling the grid: the codes stay, nothing is computed.
#
# The gain is a positive rational number, one or one for each index of `axis`. It is what a file of others
# multiplies by (a scale, a batch norm, one over an area); whoever needs the result on another grid then
# rescales it, with a multiplication that is counted there. For powers of two there is `shift`.


def cases_gain():
    x = activation("x", (1,), Format(6), Scale.of(-3))
    yield Case("third", (x,), {"numerators": (1,), "denominators": (3,)}, exhaustive=True)
    yield Case("power-of-two", (x,), {"numerators": (8,), "denominators": (1,)}, exhaustive=True)
    per_channel = activation("x", (3, 2), Format(63), Scale.of_steps([0.1, 0.75, 3], 1))
    each: dict[str, Value] = {"numerators": (2**62 + 1, 5, 1), "denominators": (3, 7, 1), "axis": 1}
    yield Case("per-channel", (per_channel,), each)
    yield Case("moves-all-channels", (per_channel,), {"numerators": (1,), "denominators": (9,)})


# csd_gain: multiply by fixed constants as sums of few shifted copies: y = x * c, one c or one for each index of `axis`.
#
# A constant is written in canonical signed digits, c = sum_i s_i 2**p_i with s_i = +-1 and no two neighbouring
# places, which is the shortest such sum; no constant has more than `digits` of them. A code costs one shift for
# each digit above place 0, one addition or subtraction less than digits, and one negation if all digits are
# negative. A constant of 0 costs nothing. The result lies on the grid scale(x) * scale(c).
#
# Sources: Reitwiesner, "Binary Arithmetic", Advances in Computers 1, 1960 (the digits are unique and fewest);
# Hartley, "Subexpression sharing in filters using canonic signed digit multipliers", IEEE TCAS-II 43(10), 1996.


def cases_csd_gain():
    x = activation("x", (1,), Format(8), Scale.of(-4))
    for code in (0, 1, -1, 7, -7, 45, -85, 128, -128, 219):
        yield Case(f"by-{code}", (x, constant("c", [code], scale=Scale.of(-6))), {"digits": 4}, exhaustive=True)
    unsigned = replace(activation("x", (2, 3), Format(6, False)), range=Range((3, 0), (60, 9), 1))
    pair = constant("c", [-11, 6], scale=Scale.of(-3))
    yield Case("per-channel", (unsigned, pair), {"digits": 3, "axis": 1})
    scales = constant("c", [3, 1, -5], scale=Scale((-2, -7, 0), 0))
    yield Case(
        "per-channel-scales", (activation("x", (2, 3), Format(8), Scale.of(-7)), scales), {"digits": 2, "axis": 2}
    )
    yield Case("other-range", (unsigned, constant("c", [5, -3, 0])), {"digits": 2, "axis": 2})
    small = replace(activation("x", (2,), Format(4)), range=Range((-3, 2), (1, 7), 1))
    yield Case("exhaustive-ranges", (small, constant("c", [-7, 21])), {"digits": 3, "axis": 1}, exhaustive=True)
    yield Case("past-2**24", (activation("x", (2,), Format(20)), constant("c", [12345])), {"digits": 8})
    yield Case("past-2**53", (activation("x", (2,), Format(40)), constant("c", [2**20 - 3])), {"digits": 4})
