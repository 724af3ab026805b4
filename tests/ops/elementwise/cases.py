"""Conformance cases of the elementwise ops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import Case, activation, constant

# abs: y = |x|. The magnitude of the least code needs one bit more: |-128| = 128 is an unsigned 8-bit code.


def cases_abs():
    for bits in (1, 2, 8, 16):
        yield Case(f"s{bits}", (activation("x", (1,), Format(bits)),), exhaustive=True)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    for lo, hi in ((-9, -3), (4, 7), (-8, 0), (0, 0)):
        x = Tensor("x", (1, 1), Format(5), Scale.of(-2), Range.of(lo, hi))
        yield Case(f"{lo}..{hi}", (x,), exhaustive=True)
    x = Tensor("x", (1, 3, 2), Format(9), Scale((-3, -4, 0), 1), Range((-256, -5, 2), (-1, 255, 3), 1))
    yield Case("per-channel", (x,))
    yield Case("s63", (activation("x", (3,), Format(63)),))


# neg: y = -x. The negated least code needs one bit more: -(-128) = 128.


def cases_neg():
    for bits in (1, 2, 8, 16):
        yield Case(f"s{bits}", (activation("x", (1,), Format(bits)),), exhaustive=True)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    x = Tensor("x", (1, 3, 2), Format(9), Scale((-3, -4, 0), 1), Range((-256, -5, 2), (-1, 255, 3), 1))
    yield Case("per-channel", (x,))
    yield Case("u62", (activation("x", (3,), Format(62, False), Scale.of(-9)),))
    yield Case("s62", (activation("x", (3,), Format(62)),))


# sign: y = -1, 0 or +1 on the scale 2^0; `sign_zero` is the sign of the code 0.
#
# With `sign_zero` 1 it is the sign bit of the hardware, and the result has two values only.


def cases_sign():
    for zero in (0, 1):
        attributes = {"sign_zero": zero}
        for bits in (1, 2, 8):
            x = activation("x", (1,), Format(bits), Scale.of(-3))
            yield Case(f"s{bits}-zero{zero}", (x,), attributes, exhaustive=True)
        yield Case(f"u4-zero{zero}", (activation("x", (1,), Format(4, False)),), attributes, exhaustive=True)
        for lo, hi in ((-9, -3), (4, 7), (-8, 0), (0, 0)):
            x = Tensor("x", (1, 1), Format(5), Scale(), Range.of(lo, hi))
            yield Case(f"{lo}..{hi}-zero{zero}", (x,), attributes, exhaustive=True)
        x = Tensor("x", (1, 3, 2), Format(63), Scale((-3, -4, 0), 1), Range((-(2**62), -5, 2), (-1, 2**60, 3), 1))
        yield Case(f"per-channel-zero{zero}", (x,), attributes)


# relu: y = max(x, 0).


def cases_relu():
    for bits in (1, 2, 8, 16):
        yield Case(f"s{bits}", (activation("x", (1,), Format(bits)),), exhaustive=bits <= 16)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    yield Case("s40", (activation("x", (3, 2, 2), Format(40), Scale((-3, -4, 0), 1)),))


# clip: y = min(max(x, lo), hi), with the bounds as codes on the scale of x.
#
# An end that the proved range never passes is not compared (`clamp`).


def cases_clip():
    x = activation("x", (1,), Format(8), Scale.of(-4))
    for name, lo, hi in (
        ("inside", -20, 30),
        ("positive", 0, 96),
        ("negative", -96, -3),
        ("one-code", 5, 5),
        ("low-only", -4, 500),
        ("high-only", -128, 126),
        ("neither", -128, 127),
        ("all-below", 130, 140),
        ("all-above", -140, -130),
    ):
        yield Case(name, (x,), {"lo": lo, "hi": hi}, exhaustive=True)
    yield Case("unneeded-ends", (x,), {"lo": -200, "hi": 200, "clamp": "both"}, exhaustive=True)
    ranged = Tensor("x", (1, 3, 2), Format(8), Scale.of(1), Range((-100, -3, 20), (-90, 3, 100), 1))
    yield Case("per-channel-range", (ranged,), {"lo": -95, "hi": 50})
    ends = tuple((np.array([2**53 + k, -(2**53) - k]),) for k in (-1, 0, 1, 2))
    wide = activation("x", (2,), Format(63))
    yield Case("past-2**53", (wide,), {"lo": -(2**53) - 1, "hi": 2**53 + 1}, extra=ends)


# mul: element-wise product with multiplications, the baseline of `mf_mul`.
#
#     y = x * w
#
# w is a second activation of x's shape, or a constant of one scale that broadcasts against one sample of
# x. The result lies on the grid scale(x) * scale(w). `constant` says what a constant w is: learned, or
# fixed by the architecture (rotations of positions, say); the multiplications are counted so.


def cases_mul():
    rng = np.random.default_rng(6)
    x = activation("x", (1,), Format(6), Scale.of(-3))
    yield Case("dynamic", (x, activation("w", (1,), Format(6), Scale.of(-5))), exhaustive=True)
    yield Case("unsigned", (x, activation("w", (1,), Format(5, False))), exhaustive=True)
    weights = constant("w", np.array([[-8], [0], [1], [7]]), Format(4), Scale.of(-2))
    yield Case("constant", (activation("x", (4, 1), Format(3)), weights), {"constant": "fixed"}, exhaustive=True)
    plane = activation("x", (3, 2, 2), Format(8, False), Scale.of(-7))
    by_channel = replace(plane, range=Range((1, 0, 7), (9, 255, 7), 1))
    other = replace(activation("w", (3, 2, 2), Format(5)), range=Range((-3, 1), (2, 15), 3))
    yield Case("ranges-by-channel", (by_channel, activation("w", (3, 2, 2), Format(5))))
    yield Case("ranges-by-column", (plane, other))
    yield Case("both-ranges", (by_channel, other))
    yield Case("scalar", (plane, constant("w", np.array(-5))))
    yield Case("broadcast", (by_channel, constant("w", rng.integers(-9, 9, (3, 1, 2)))))
    yield Case("past-2**24", (activation("x", (2,), Format(16)), activation("w", (2,), Format(15))))
    yield Case("past-2**53", (activation("x", (2,), Format(32)), activation("w", (2,), Format(31))))


# soft_threshold: y = sign(x) * max(|x| - t, 0), t >= 0 one code or one for each index of `axis`.
#
# The device takes the magnitude, subtracts t, compares and selects, and gives the result the sign of
# x back by a conditional negation. y is monotone in x, so the ends of the range are those of x mapped.
#
# Source: Donoho, "De-noising by soft-thresholding", IEEE Trans. Inf. Theory 41(3), 1995.


def cases_soft_threshold():
    scale = Scale.of(-4)
    for threshold in (0, 1, 5, 127, 128, 200):
        for word in (Format(8), Format(8, False)):
            x = activation("x", (1,), word, scale)
            yield Case(f"{word}-t{threshold}", (x, constant("t", [threshold], None, scale)), exhaustive=True)
    for lo, hi in ((-9, -3), (4, 7), (-8, 0)):
        x = Tensor("x", (1, 1), Format(5), scale, Range.of(lo, hi))
        yield Case(f"{lo}..{hi}", (x, constant("t", [4], None, scale)), exhaustive=True)
    t = constant("t", [3, 0, 40], Format(6, False), scale)
    at = tuple((np.repeat([[3 + k], [-k], [40 + k]], 2, axis=1) * s,) for k in (-1, 0, 1) for s in (1, -1))
    yield Case("per-channel", (activation("x", (3, 2), Format(8), scale), t), {"axis": 1}, extra=at)
    x = Tensor("x", (1, 2, 3), Format(8), scale, Range((-100, -2), (-50, 9), 1))
    yield Case("range-on-another-axis", (x, t), {"axis": 2})
    scales = (-3, -5, -4)
    t = constant("t", [2**53 + 1, 2**20, 2**54], None, Scale(scales, 0))
    at = tuple((np.array([2**53 + k, -(2**20) - k, 2**54 - k]),) for k in (-1, 0, 1, 2))
    x = activation("x", (3,), Format(62), Scale(scales, 1))
    yield Case("per-channel-scale-past-2**53", (x, t), {"axis": 1}, extra=at)


def cases_add() -> Iterator[Case]:
    """Yield the cases of add and of sub."""
    rng = np.random.default_rng(1)

    def pair(left, right, shape=(1,)):
        return activation("a", shape, *left), activation("b", shape, *right)

    s5, u5, s1 = (Format(5), Scale.of(-3)), (Format(5, False), Scale.of(-3)), (Format(1), Scale.of(-3))
    yield Case("one-scale", pair(s5, s5), exhaustive=True)
    yield Case("signs", pair(s5, u5), exhaustive=True)
    yield Case("signs-swapped", pair(u5, s5), exhaustive=True)
    yield Case("one-bit", pair(s1, s1), exhaustive=True)
    yield Case("coarser-a", pair((Format(5), Scale.of(0)), s5), exhaustive=True)
    yield Case("coarser-b", pair(s5, (Format(4, False), Scale.of(1))), exhaustive=True)
    channels = (Format(8), Scale((-3, -5, -4), 1))
    yield Case("per-channel-scale", pair(channels, channels, (3, 2)))
    ranged = Tensor("a", (1, 3, 2), Format(8), Scale.of(-2), Range((-100, -3, 20), (-90, 3, 100), 1))
    other = Tensor("b", (1, 3, 2), Format(9), Scale.of(-1), Range((-255, 7), (4, 8), 2))
    yield Case("ranges-on-one-axis", (ranged, ranged))
    yield Case("ranges-on-two-axes", (ranged, other))
    yield Case("range-of-b", (activation("a", (3, 2), Format(4), Scale.of(-1)), other))
    x = activation("a", (3, 4, 2), Format(8), Scale.of(-4))
    for shape in ((), (1,), (2,), (4, 1), (3, 1, 1), (3, 4, 2), (1, 4, 2)):
        name = "x".join(map(str, shape)) or "scalar"
        codes = rng.integers(-99, 99, shape)
        yield Case(f"constant-{name}", (x, constant("b", codes, None, Scale.of(-6))))
        yield Case(f"coarser-constant-{name}", (x, constant("b", codes, None, Scale.of(-1))))
    per_channel = constant("b", [[9], [-9], [0]], None, Scale((-3, -5, -4), 0))
    yield Case("constant-per-channel-scale", (activation("a", (3, 2), *channels), per_channel))
    yield Case("constant-and-range", (ranged, constant("b", [5, -7], None, Scale.of(-2))))
    yield Case("one-code", (activation("a", (1,), Format(8)), constant("b", [-128])), exhaustive=True)
    wide = (Format(62), Scale.of(-9))
    yield Case("s62", pair(wide, wide, (3,)))
    yield Case("past-2**53", pair((Format(50, False), Scale.of(3)), (Format(60), Scale.of(-7)), (3,)))


cases_sub = cases_add
