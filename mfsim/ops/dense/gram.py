"""gram: products of the rows of a matrix with each other, y = x x^T; one triangle is computed, the other is copied.

    y[..., i, j] = y[..., j, i] = sum_k x[..., i, k] x[..., j, k],    j <= i

x is [batch, ..., N, K]: N (N + 1) / 2 sums of K products of activations, where a matrix product has N**2. The
result lies on the square of x's scale. It serves attention scores whose queries and keys are one tensor:
"Reducing the Transformer Architecture to a Minimum" (arXiv 2410.13732), symmetric similarity.
"""

from __future__ import annotations

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range
from mfsim.ops.op import Inference, Op, result, rows, size
from mfsim.ops.traits import Signature, Trait


def _infer(tensors, attributes):
    (x,) = tensors
    if len(x.shape) < 3 or min(x.shape[-2:]) < 1:
        raise ShapeError(f"x of op `gram` must be [batch, ..., N, K] with at least one row and term, not {x.shape}")
    if x.scale.axis is not None:
        raise FormatError("x of op `gram` must have one scale; requantize first")
    last, length = len(x.shape) - 1, int(x.shape[-1])
    terms = []
    for lo, hi in zip(*x.range.along(last, length), strict=True):
        ends = (lo * lo, lo * hi, hi * hi)
        terms.append((min(ends), max(ends)))
    words = {
        "product": Format.of_range(min(lo for lo, _ in terms), max(hi for _, hi in terms), "a product"),
        "acc": Format.of_range(
            sum(min(lo, 0) for lo, _ in terms), sum(max(hi, 0) for _, hi in terms), "the accumulator"
        ),
    }
    range_ = Range.of(sum(lo for lo, _ in terms), sum(hi for _, hi in terms))
    y = result((*x.shape[:-1], x.shape[-2]), range_, x.scale.times(x.scale.steps), "the result of gram")
    return Inference((y,), words, x.shape[-2] > 1 and x.range.axis in (None, last))


def _reference(inputs, attributes):
    (x,) = inputs
    total = 0
    for k in range(x.shape[-1]):
        column = x[..., k]
        total = total + column[..., :, None] * column[..., None, :]
    return [total]


def _count(node, inputs, outputs):
    (x,) = inputs
    n, length = (int(extent) for extent in x.shape[-2:])
    sums = size(x.shape) // (n * length) * (n * (n + 1) // 2)
    bits = x.format.bits
    return rows(
        node,
        ("mul", (bits, bits), sums * length, "activation"),
        ("addsub", (node.words["acc"].bits, node.words["product"].bits), sums * (length - 1)),
    )


OP = Op(
    name="gram",
    summary="products of all rows with each other, one triangle computed",
    attributes=(),
    inputs=("x",),
    traits=frozenset({Trait.MULTIPLY_ACCUMULATE}),
    signature=Signature("Gram"),
    primitives=frozenset({"mul", "addsub"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    held={"plain.mul": "product", "plain.total": "acc"},
)
