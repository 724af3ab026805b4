"""mul: element-wise product with multiplications, the baseline of `mf_mul`.

    y = x * w

w is a second activation of x's shape, or a constant of one scale that broadcasts against one sample of
x. The result lies on the grid scale(x) * scale(w). `constant` says what a constant w is: learned, or
fixed by the architecture (rotations of positions, say); the multiplications are counted so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.bounds import Operands, dense_bounds
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, constant, result, rows, size


def check_operands(x, w):
    """Raise `ShapeError` unless w has the shape of x, or is constant and broadcasts to one sample of x."""
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


def sample_bounds(tensor, bounds, shape):
    """Return bounds of `tensor` as an int64 array that broadcasts to `shape`, one sample of x."""
    if tensor.is_constant:
        return np.broadcast_to(tensor.codes, shape)
    axis = tensor.range.axis
    view = [1] * len(shape)
    if axis is not None:
        view[axis - 1] = -1
    return np.array(bounds, dtype=np.int64).reshape(view)


def range_axis(x, w):
    """Return the axis along which the range of an element-wise product is kept, or None."""
    if x.range.axis is not None or w.is_constant:
        return x.range.axis
    return w.range.axis


def element_operands(x, w):
    """Return the bounds of x and w flattened to one term for each output, and the shape of those outputs."""
    sample = x.shape[1:]
    ends = [sample_bounds(t, end, sample) for t in (x, w) for end in (t.range.lo, t.range.hi)]
    shape = np.broadcast_shapes(*(end.shape for end in ends))
    return Operands(*(np.broadcast_to(end, shape).reshape(1, -1) for end in ends)), shape


def element_range(lo, hi, shape, axis):
    """Return the range of outputs bounded by `lo` and `hi`, kept along `axis`."""
    lo, hi = lo.reshape(shape), hi.reshape(shape)
    if axis is None:
        return Range.of(lo.min(), hi.max())
    others = tuple(k for k in range(len(shape)) if k != axis - 1)
    return Range(tuple(lo.min(axis=others)), tuple(hi.max(axis=others)), axis)


def infer(tensors, attributes):
    x, w = tensors
    check_operands(x, w)
    if x.scale.axis is not None or w.scale.axis is not None:
        raise FormatError("x and w of op `mul` must have one scale each; requantize first")
    operands, shape = element_operands(x, w)
    bounds = dense_bounds(operands)
    range_ = element_range(bounds.lo, bounds.hi, shape, range_axis(x, w))
    return Inference((result(x.shape, range_, x.scale.times(w.scale.steps), "the result of mul"),), tight=x is not w)


def reference(inputs, attributes):
    x, w = inputs
    return [x * w]


def count(node, inputs, outputs):
    x, w = inputs
    multiplied_by = node.attributes["constant"] if w.is_constant else "activation"
    return rows(node, ("mul", (x.format.bits, w.format.bits), size(outputs[0].shape), multiplied_by))


def cases():
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


OP = Op(
    name="mul",
    summary="element-wise product, with multiplications",
    attributes=(Attribute("constant", "str", "what a constant w is", "learned", ("learned", "fixed")),),
    inputs=("x", "w"),
    primitives=frozenset({"mul"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
