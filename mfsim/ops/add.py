"""add: y = a + b on the finer of their grids; b may be a constant that broadcasts to a sample of a."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.alignment import SHIFTS_OF_A_SUM, count_sum, derive_sum, infer_sum
from mfsim.ops.op import Case, Op, activation, constant
from mfsim.program import Tensor


def reference(inputs, attributes):
    a, b = inputs
    return [a * 2 ** attributes["shift_a"] + b * 2 ** attributes["shift_b"]]


def cases() -> Iterator[Case]:
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


OP = Op(
    name="add",
    summary="a + b",
    attributes=SHIFTS_OF_A_SUM,
    inputs=("a", "b"),
    primitives=frozenset({"shift", "addsub"}),
    infer=partial(infer_sum, "add", 1),
    reference=reference,
    count=count_sum,
    cases=cases,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    derive=partial(derive_sum, "add"),
)
