"""mf_mul: element-wise product with the MF operator.

    y = term(x, w)

w is a second activation of x's shape, or a constant that broadcasts against one sample of x. Terms,
forms and grids: `mfsim/ops/products.py`. An element on split grids takes 1 addition and 2 negations,
and 1 shift where the scales differ; on one grid 1 addition and 1 negation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.errors import ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.bounds import Operands, mf_bounds
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


def _sample(tensor, bounds, shape):
    """Return bounds of `tensor` as an int64 array that broadcasts to `shape`, one sample of x."""
    if tensor.is_constant:
        return np.broadcast_to(tensor.codes, shape)
    axis = tensor.range.axis
    view = [1] * len(shape)
    if axis is not None:
        view[axis - 1] = -1
    return np.array(bounds, dtype=np.int64).reshape(view)


def _check(x, w):
    if not w.is_constant:
        if w.shape != x.shape:
            raise ShapeError(f"x and a dynamic w must have one shape, not {x.shape} and {w.shape}")
        return
    try:
        fits = np.broadcast_shapes(w.shape, x.shape[1:]) == x.shape[1:]
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"a constant w must broadcast to one sample {x.shape[1:]} of x, not have the shape {w.shape}")


def infer(tensors, attributes):
    x, w = tensors
    _check(x, w)
    axis = x.range.axis if x.range.axis is not None else w.range.axis if not w.is_constant else None
    scale = joined_scale(x.scale, w.scale, attributes, len(x.shape) - 1)
    sample = x.shape[1:]
    ends = [_sample(t, end, sample) for t in (x, w) for end in (t.range.lo, t.range.hi)]
    shape = np.broadcast_shapes(*(end.shape for end in ends))
    parts = mf_bounds(Operands(*(np.broadcast_to(end, shape).reshape(1, -1) for end in ends)), attributes)
    lo, hi = (bound.reshape(shape) for bound in (parts[2].lo, parts[2].hi))
    if axis is None:
        range_ = Range.of(lo.min(), hi.max())
    else:
        others = tuple(k for k in range(len(shape)) if k != axis - 1)
        range_ = Range(tuple(lo.min(axis=others)), tuple(hi.max(axis=others)), axis)
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
