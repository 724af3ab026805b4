"""Conformance cases of the layout ops."""

from __future__ import annotations

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import Case, activation

# concat: the inputs behind each other along `axis`, aligned to the finest of their grids.
#
# Scales for each index of `axis` itself are concatenated, which costs nothing; any other unequal
# scales are aligned by counted left shifts (see mfsim/ops/alignment.py).


def cases_concat():
    def x(name, shape, bits, exponent=0, signed=True):
        return activation(name, shape, Format(bits, signed), Scale.of(exponent))

    yield Case("two", (x("a", (1,), 4), x("b", (1,), 3)), {"axis": 1}, exhaustive=True)
    yield Case("signs", (x("a", (1,), 4, 0, False), x("b", (1,), 4)), {"axis": 1}, exhaustive=True)
    yield Case("aligned", (x("a", (2,), 3, -1), x("b", (1,), 3, -4)), {"axis": 1}, exhaustive=True)
    yield Case("one-input", (x("a", (2,), 5),), {"axis": 1}, exhaustive=True)
    three = (x("a", (2, 3, 2), 8, -2), x("b", (2, 1, 2), 5, -4), x("c", (2, 2, 2), 6, -3, False))
    yield Case("middle-axis", three, {"axis": 2})
    yield Case("last-axis", (x("a", (2, 3), 8, -2), x("b", (2, 2), 50, -5)), {"axis": 2})
    ranged = Tensor("a", (1, 3, 2), Format(8), Scale.of(-2), Range((-100, -3, 20), (-90, 3, 100), 1))
    yield Case("ranges-on-the-axis", (ranged, x("b", (1, 2), 4), ranged), {"axis": 1})
    yield Case("ranges-on-another-axis", (ranged, ranged), {"axis": 2})
    per_channel = activation("a", (3, 2), Format(63), Scale((-3, -5, -4), 1))
    yield Case("one-per-channel-scale", (per_channel, per_channel), {"axis": 2})
    yield Case("scales-behind-each-other", (per_channel, x("b", (2, 2), 20, -7)), {"axis": 1})


# flatten: all codes of a sample on one axis, in unchanged (row-major) order.


def cases_flatten():
    yield Case("square", (activation("x", (2, 2), Format(3), Scale.of(-2)),), exhaustive=True)
    yield Case("flat-already", (activation("x", (3,), Format(2, False)),), exhaustive=True)
    yield Case("one-code", (activation("x", (), Format(4)),), exhaustive=True)
    for axis, lo, hi in (
        (1, (-(2**62), -3), (-9, 3)),
        (2, (-9, -3, 0), (-1, 3, 2**54)),
        (3, (-9, -3, 0, 5), (-1, 3, 4, 6)),
    ):
        x = Tensor("x", (1, 2, 3, 4), Format(63), Scale.of(1), Range(lo, hi, axis))
        yield Case(f"range-on-axis-{axis}", (x,))
    flat = Tensor("x", (1, 3, 1), Format(9), Scale((-3, -5, -4), 1), Range((-256, -3, 2), (-9, 3, 54), 1))
    yield Case("per-channel-of-one-code", (flat,))


# reshape: the codes of each sample, in unchanged (row-major) order, in another shape.


def cases_reshape():
    yield Case("split", (activation("x", (4,), Format(3), Scale.of(-2)),), {"shape": (2, 2)}, exhaustive=True)
    yield Case("to-one-axis", (activation("x", (2, 2), Format(3)),), {"shape": (4,)}, exhaustive=True)
    yield Case("same", (activation("x", (3,), Format(2, False)),), {"shape": (3,)}, exhaustive=True)
    x = Tensor("x", (1, 3, 4), Format(63), Scale((-3, -5, -4), 1), Range((-(2**62), -3, 2), (-9, 3, 2**54), 1))
    yield Case("keeps-axis-1", (x,), {"shape": (3, 2, 2)})
    yield Case("moves-axis-1", (x,), {"shape": (1, 3, 4, 1)})
    on_1 = Tensor("x", (1, 4, 3), Format(8), Scale(), Range((-9, -3, 0, 5), (-1, 3, 4, 6), 1))
    on_2 = Tensor("x", (1, 3, 4), Format(8), Scale(), Range((-9, -3, 0, 5), (-1, 3, 4, 6), 2))
    for name, ranged in (("front", on_1), ("back", on_2)):
        for shape in ((12,), (2, 6), (6, 2), (4, 3), (3, 4), (2, 2, 3), (2, 3, 2)):
            yield Case(f"{name}-range-{'x'.join(map(str, shape))}", (ranged,), {"shape": shape})


# slice: the entries range(start, end, step) of each listed axis; a negative step goes backwards.
#
# Bounds are those of Python's `range`: 0 <= start, and an `end` of -1 with a negative step means that
# index 0 is the last entry.


def cases_slice():
    def case(name, x, axes, starts, ends, steps=None, exhaustive=False):
        attributes = {"axes": axes, "starts": starts, "ends": ends, "steps": steps or (1,) * len(axes)}
        return Case(name, (x,), attributes, exhaustive)

    small = activation("x", (4,), Format(3), Scale.of(-2))
    yield case("inside", small, (1,), (1,), (3,), exhaustive=True)
    yield case("one", small, (1,), (3,), (4,), exhaustive=True)
    yield case("step", small, (1,), (0,), (4,), (3,), exhaustive=True)
    yield case("backwards", small, (1,), (3,), (-1,), (-1,), exhaustive=True)
    yield case("backwards-by-two", small, (1,), (2,), (-1,), (-2,), exhaustive=True)
    ranged = Tensor(
        "x", (1, 3, 4), Format(63), Scale((-3, -5, -4), 1), Range((-(2**62), -3, 2, -1), (-9, 3, 2**54, 1), 2)
    )
    yield case("two-axes", ranged, (2, 1), (1, 0), (3, 2))
    yield case("one-channel", ranged, (1,), (2,), (3,))
    yield case("channels-backwards", ranged, (1, 2), (2, 3), (-1, 0), (-1, -2))
    yield case("no-axis", ranged, (), (), ())


# transpose: axis j of the result is axis perm[j] of x; the batch stays in front.


def cases_transpose():
    yield Case("square", (activation("x", (2, 2), Format(3), Scale.of(-2)),), {"perm": (0, 2, 1)}, exhaustive=True)
    yield Case("identity", (activation("x", (3,), Format(2, False)),), {"perm": (0, 1)}, exhaustive=True)
    x = Tensor(
        "x", (1, 2, 3, 4), Format(63), Scale((-3, -5, -4), 2), Range((-(2**62), -3, 2, -1), (-9, 3, 2**54, 1), 3)
    )
    for perm in ((0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 2, 1)):
        yield Case("bytes-" + "".join(map(str, perm)), (activation("x", (3, 17, 19), Format(8)),), {"perm": perm})
    for perm in ((0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1)):
        yield Case("".join(map(str, perm)), (x,), {"perm": perm})


# pad: the code `value` around each sample; `pads` as in ONNX, all begins and then all ends.


def cases_pad():
    x = activation("x", (2,), Format(4), Scale.of(-2))
    yield Case("zero", (x,), {"pads": (0, 1, 0, 2)}, exhaustive=True)
    yield Case("inside-the-word", (x,), {"pads": (0, 1, 0, 0), "value": -8}, exhaustive=True)
    yield Case("above-the-word", (x,), {"pads": (0, 0, 0, 1), "value": 8}, exhaustive=True)
    yield Case("below-the-word", (x,), {"pads": (0, 0, 0, 1), "value": -9}, exhaustive=True)
    yield Case("nothing", (x,), {"pads": (0, 0, 0, 0), "value": 99}, exhaustive=True)
    image = Tensor("x", (1, 3, 2, 2), Format(63), Scale((-3, -5, -4), 1), Range((-(2**62), -3, 2), (-9, 3, 2**54), 1))
    yield Case("image", (image,), {"pads": (0, 0, 1, 2, 0, 0, 0, 1)})
    ranged = Tensor("x", (1, 3, 2), Format(8), Scale.of(-2), Range((-100, -3, 20), (-90, 3, 100), 1))
    for value in (0, -7):
        yield Case(f"ranged-axis-{value}", (ranged,), {"pads": (0, 2, 0, 0, 1, 0), "value": value})
        yield Case(f"other-axis-{value}", (ranged,), {"pads": (0, 0, 1, 0, 0, 1), "value": value})
        yield Case(f"both-axes-{value}", (ranged,), {"pads": (0, 1, 1, 0, 1, 1), "value": value})
