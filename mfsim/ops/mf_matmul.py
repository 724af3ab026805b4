"""mf_matmul: matrix product with the MF operator in place of the multiplication.

    y[..., o] = sum_k term(x[..., k], w[k, o]) + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Terms, forms
and grids: `mfsim/ops/products.py`. The bias starts the accumulator that lies on the finer grid; a sum
that nothing starts begins with its first operand, conditionally negated. With a bias an output on
split grids takes 2K additions, 1 negation and 1 shift; without, 2K - 1, 2 and 1.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Format, Scale
from mfsim.ops.op import Case, Inference, Op, Row, activation, constant, objects, result, rows, size
from mfsim.ops.products import (
    FORMS,
    GRIDS,
    MF_ATTRIBUTES,
    check_bias,
    derive_shifts,
    joined_scale,
    mf_bounds,
    term_parts,
)


def product_shape(x, w) -> tuple[int, ...]:
    """Return the output shape of a product of x with constant or dynamic w."""
    if w.is_constant:
        if len(w.shape) != 2 or len(x.shape) < 2 or x.shape[-1] != w.shape[0]:
            raise ShapeError(f"x {x.shape} must end in K and constant weights must be [K, O], not {w.shape}")
        return (*x.shape[:-1], w.shape[1])
    if len(x.shape) < 3 or len(w.shape) != len(x.shape) or x.shape[:-2] != w.shape[:-2] or x.shape[-1] != w.shape[-2]:
        raise ShapeError(f"x [..., M, K] and a dynamic w [..., K, O] must share all but the last axes, not {x.shape} and {w.shape}")
    return (*x.shape[:-1], w.shape[-1])


def operand_bounds(x, w):
    """Return x_lo, x_hi (lists over K) and w_lo, w_hi (object arrays [K, O])."""
    x_lo, x_hi = x.range.along(len(x.shape) - 1, x.shape[-1])
    if w.is_constant:
        codes = objects(w.codes)
        return x_lo, x_hi, codes, codes
    shape = (w.shape[-2], w.shape[-1])
    return x_lo, x_hi, np.full(shape, w.range.low, dtype=object), np.full(shape, w.range.high, dtype=object)


def bias_bounds(bias):
    """Return the (lo, hi) arrays of a constant bias, or None."""
    return None if bias is None else (objects(bias.codes), objects(bias.codes))


def weight_scale(w) -> Scale:
    """Return the scale of w, whose axis may only be the output axis."""
    if w.scale.axis not in (None, len(w.shape) - 1) or (w.scale.axis is not None and not w.is_constant):
        raise FormatError("w must have one scale, or for constant weights one for each output")
    return w.scale


def split(tensors):
    """Return x, w, bias or None."""
    x, w, *rest = tensors
    return x, w, rest[0] if rest else None


def derive(tensors, attributes):
    x, w, _ = split(tensors)
    return derive_shifts(x.scale, weight_scale(w), attributes["grid"])


def mf_words(parts, bias, attributes) -> dict[str, Format]:
    """Return the inner accumulators of an MF product for its bounds (x-part, w-part, joined)."""
    x_part, w_part, joined = parts
    if attributes["grid"] != "split":
        return {"acc": Format.of_range(*joined.started_with(bias).partial, "the accumulator")}
    if min(attributes["shift_x"]) == 0:
        x_part = x_part.started_with(bias)
    if max(attributes["shift_x"]) > 0:
        w_part = w_part.started_with(bias)
    return {
        "acc_x": Format.of_range(*x_part.partial, "the accumulator of the x-part"),
        "acc_w": Format.of_range(*w_part.partial, "the accumulator of the w-part"),
    }


def infer(tensors, attributes):
    x, w, bias = split(tensors)
    shape = product_shape(x, w)
    axis = len(shape) - 1
    scale = joined_scale(x.scale, weight_scale(w), attributes, axis)
    if bias is not None and not (w.is_constant and bias.is_constant):
        raise FormatError("only constant weights take a bias, and it must be constant")
    check_bias(bias, scale, shape[-1], axis)
    parts = mf_bounds(*operand_bounds(x, w), attributes)
    start = bias_bounds(bias)
    total = parts[2].started_with(start)
    tight = w.is_constant and x.range.axis in (None, len(x.shape) - 1)
    return Inference((result(shape, total.range(axis), scale, "mf_matmul"),), mf_words(parts, start, attributes), tight)


def reference(inputs, attributes):
    x, w, *rest = inputs
    shape = (*x.shape[:-1], w.shape[-1])
    out = np.empty(shape, dtype=object)
    outputs = shape[-1]
    shift_x = [attributes["shift_x"][o % len(attributes["shift_x"])] for o in range(outputs)]
    shift_w = [attributes["shift_w"][o % len(attributes["shift_w"])] for o in range(outputs)]
    for index in np.ndindex(*shape):
        o = index[-1]
        weights = w[:, o] if w.ndim == 2 else w[(*index[:-2], slice(None), o)]
        total = rest[0][o] if rest else 0
        for a, b in zip(x[index[:-1]], weights, strict=True):
            x_part, w_part = term_parts(a, b, attributes["form"], attributes["sign_zero"])
            total += x_part * 2 ** shift_x[o] + w_part * 2 ** shift_w[o]
        out[index] = total
    return [out]


def mf_rows(node, x, w, y, length: int, outputs: int, channels: int, with_bias: bool) -> list[Row]:
    """Return the rows of `outputs` sums of `length` MF terms; operand preparation is not included."""
    attributes, words = node.attributes, node.words
    bx, bw, by = x.format.bits, w.format.bits, y.format.bits
    if attributes["grid"] != "split":
        bits = words["acc"].bits
        operand = max(bx + max(attributes["shift_x"]), bw + max(attributes["shift_w"]))
        return rows(
            node,
            ("addsub", (bits, operand), outputs * (2 * length - (not with_bias))),
            ("neg", (operand,), 0 if with_bias else outputs),
        )
    shift_x = _by_channel(attributes["shift_x"], channels)
    shift_w = _by_channel(attributes["shift_w"], channels)
    each = outputs // channels
    started_x = each * sum(s == 0 for s in shift_x) if with_bias else 0
    started_w = outputs - started_x if with_bias else 0
    ax, aw = words["acc_x"].bits, words["acc_w"].bits
    return rows(
        node,
        ("addsub", (ax, bx), outputs * (length - 1) + started_x),
        ("addsub", (aw, bw), outputs * (length - 1) + started_w),
        ("neg", (bx,), outputs - started_x),
        ("neg", (bw,), outputs - started_w),
        ("shift", (ax,), each * sum(s > 0 for s in shift_x)),
        ("shift", (aw,), each * sum(s > 0 for s in shift_w)),
        ("addsub", (by, by), outputs),
    )


def _by_channel(values, channels):
    return list(values) * channels if len(values) == 1 else list(values)


def operand_rows(node, tensor, codes: int, shifts) -> list[Row]:
    """Return the rows of preparing one operand: its signs, magnitudes and alignment (offline if constant)."""
    bits = (tensor.format.bits,)
    attributes = node.attributes
    made = rows(
        node,
        ("sign", bits, codes),
        ("abs", bits, codes if attributes["form"] == "abs" else 0),
        ("shift", bits, codes if attributes["grid"] == "aligned" and max(shifts) > 0 else 0),
    )
    return [Row(**{**vars(row), "offline": True}) for row in made] if tensor.is_constant else made


def count(node, inputs, outputs):
    x, w, bias = split(inputs)
    (y,) = outputs
    return [
        *operand_rows(node, x, size(x.shape), node.attributes["shift_x"]),
        *operand_rows(node, w, w.sample_size, node.attributes["shift_w"]),
        *mf_rows(node, x, w, y, x.shape[-1], size(y.shape), y.shape[-1], bias is not None),
    ]


def cases():
    rng = np.random.default_rng(0)
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    x = activation("x", (2,), Format(4), Scale.of(-4))
    for form in FORMS:
        for zero in (0, 1):
            attributes = {"form": form, "sign_zero": zero}
            yield Case(f"{form}-{zero}", (x, weights), attributes, exhaustive=True)
            bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-4))
            yield Case(f"{form}-{zero}-bias", (x, weights, bias), attributes, exhaustive=True)
            dynamic = (activation("x", (1, 1), Format(5), Scale.of(-1)), activation("w", (1, 1), Format(5), Scale.of(-3)))
            yield Case(f"{form}-{zero}-dynamic", dynamic, attributes, exhaustive=True)
    for grid in GRIDS:
        big = constant("w", rng.integers(-127, 128, (9, 5)), Format(8), Scale.of(-7 if grid == "shared" else -9))
        yield Case(grid, (activation("x", (3, 9), Format(8), Scale.of(-7)), big), {"grid": grid})
        bias = constant("b", rng.integers(-99, 99, 5), scale=Scale.of(-7 if grid == "shared" else -9))
        yield Case(f"{grid}-bias", (activation("x", (9,), Format(8), Scale.of(-7)), big, bias), {"grid": grid, "form": "abs"})
    per_channel = constant("w", rng.integers(-7, 8, (6, 3)), Format(4), Scale((-6, -3, -4), 1))
    bias = constant("b", np.array([9, -9, 1]), scale=Scale((-6, -4, -4), 0))
    yield Case("per-channel", (activation("x", (6,), Format(6, False), Scale.of(-4)), per_channel), {})
    yield Case("per-channel-bias", (activation("x", (6,), Format(6), Scale.of(-4)), per_channel, bias), {"sign_zero": 1})
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic, {"form": "abs"})
    yield Case("dynamic-aligned", dynamic, {"grid": "aligned"})
    wide = constant("w", np.array([[2**40 - 1], [-(2**40)]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (2,), Format(44), Scale.of(12)), wide), {})


OP = Op(
    name="mf_matmul",
    summary="matrix product with the MF operator",
    attributes=MF_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
)
