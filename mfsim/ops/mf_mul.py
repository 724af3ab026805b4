"""mf_mul: element-wise product with the MF operator.

    y = term(x, w)

w is a second activation of x's shape, or a constant that broadcasts against one sample of x. Terms,
forms and grids: `mfsim/ops/products.py`. An element on split grids takes 1 addition and 2 negations,
and 1 shift where the scales differ; on one grid 1 addition and 1 negation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.bounds import mf_bounds
from mfsim.ops.mul import check_operands, element_operands, element_range, range_axis
from mfsim.ops.op import Case, Inference, Op, activation, constant, result
from mfsim.ops.products import (
    FORMS,
    GRIDS,
    MF_ATTRIBUTES,
    derive,
    joined_scale,
    mf_count,
    mf_terms,
    mf_words,
    shift_gains,
)


def infer(tensors, attributes):
    x, w = tensors
    check_operands(x, w)
    scale = joined_scale(x.scale, w.scale, attributes, len(x.shape) - 1)
    operands, shape = element_operands(x, w)
    parts = mf_bounds(operands, attributes)
    range_ = element_range(parts[2].lo, parts[2].hi, shape, range_axis(x, w))
    words = mf_words(parts, None, attributes)
    return Inference((result(x.shape, range_, scale, "the result of mf_mul"),), words, tight=True)


def reference(inputs, attributes):
    x, w = inputs
    return [mf_terms(x, w, attributes, shift_gains(attributes))]


def count(node, inputs, outputs):
    return mf_count(node, inputs, outputs, 1, len(outputs[0].shape) - 1)


def cases():
    rng = np.random.default_rng(4)
    for form in FORMS:
        for zero in (0, 1):
            for grid in GRIDS:
                shared = grid == "shared"
                x = activation("x", (1,), Format(6), Scale.of(-3))
                w = activation("w", (1,), Format(6), Scale.of(-3 if shared else -1 - 4 * zero))
                attributes = {"form": form, "sign_zero": zero, "grid": grid}
                yield Case(f"{form}-{zero}-{grid}", (x, w), attributes, exhaustive=True)
                weights = constant("w", np.array([[-8], [0], [1], [7]]), Format(4), w.scale)
                yield Case(
                    f"{form}-{zero}-{grid}-constant",
                    (activation("x", (4, 1), Format(3), x.scale), weights),
                    attributes,
                    True,
                )
    x = activation("x", (3, 2, 2), Format(8, False), Scale.of(-7))
    by_channel = replace(x, range=Range((1, 0, 7), (9, 255, 7), 1))
    yield Case("unsigned", (x, activation("w", (3, 2, 2), Format(8), Scale.of(-7))), {"form": "abs"})
    yield Case("ranges-by-channel", (by_channel, activation("w", (3, 2, 2), Format(5), Scale.of(-4))), {})
    other = replace(activation("w", (3, 2, 2), Format(5)), range=Range((-3, 1), (2, 15), 3))
    yield Case("ranges-by-column", (x, other), {"sign_zero": 1})
    yield Case("both-ranges", (by_channel, other), {"form": "abs"})
    yield Case("scalar", (x, constant("w", np.array(-5))), {})
    yield Case("broadcast", (by_channel, constant("w", rng.integers(-9, 9, (3, 1, 2)))), {})
    wide = activation("x", (2,), Format(50), Scale.of(3))
    yield Case("past-2**53", (wide, activation("w", (2,), Format(55), Scale.of(-1))), {})
    yield Case(
        "past-2**24", (activation("x", (2,), Format(30)), activation("w", (2,), Format(24))), {"grid": "aligned"}
    )


OP = Op(
    name="mf_mul",
    summary="element-wise product with the MF operator",
    attributes=MF_ATTRIBUTES,
    inputs=("x", "w"),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
)
