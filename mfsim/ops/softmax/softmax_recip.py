"""softmax_recip: softmax with one division for each row.

    R = 2**K // S;   y_i = (t_i R + 2**(K-F-1)) >> (K - F)

m, d, t and S are those of softmax (`mfsim/ops/softmax/softmax_definition.py`). R is floored: beside the error of softmax
at most 2**(P+F-K) LSB, always downwards, whatever N is. K = P + F + 4 makes it 1/16 LSB; with K = P + F + 2 the
row sums fall visibly. t R is at most 2**K, since R <= 2**K / S and t <= S.
"""

from __future__ import annotations

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.softmax.rows import CLAMP, FRACTION, HIDDEN, check_fraction, grid, result_range
from mfsim.ops.softmax.softmax_definition import TERMS_HELD, Terms, derivation, mask_of, term_rows, terms_of, weighed
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X


def _infer(tensors, attributes):
    x, fraction, power = tensors[0], check_fraction("softmax_recip", attributes), attributes["reciprocal"]
    if not fraction < power < 62:
        raise FormatError(f"`reciprocal` of op `softmax_recip` must be in {fraction + 1}..61, not {power}")
    terms = terms_of("softmax_recip", tensors, attributes, 2)
    half = 1 << power - fraction - 1
    lo, hi = terms.bounds(lambda t, total: (t * ((1 << power) // total) + half) >> (power - fraction))
    greatest = (1 << power) // terms.top
    words = {
        **terms.words(),
        "reciprocal": Format.of_range(0, greatest, "the reciprocal of a softmax"),
        "product": Format.of_range(0, terms.top * greatest + half, "the product of a softmax"),
    }
    output = result(x.shape, result_range(terms.rows, lo, hi), grid(fraction), "the result of softmax_recip")
    return Inference((output,), words, terms.is_tight(x))


def _reference(inputs, attributes):
    x, table, *masks = inputs
    one, unit = 2 ** attributes["reciprocal"], 2 ** (attributes["reciprocal"] - attributes["fraction"])
    return [weighed(x, table, masks, lambda d, t, total: (t * (one // total) + unit // 2) // unit)]


def _count(node, inputs, outputs):
    x, table = inputs[:2]
    seen = Terms.of("softmax_recip", x, table, mask_of(inputs, 2)).rows
    power, fraction = node.attributes["reciprocal"], node.attributes["fraction"]
    total, term, reciprocal, product = (node.words[name].bits for name in ("sum", "term", "reciprocal", "product"))
    return rows(
        node,
        *term_rows(node, x, table, seen, raised=True),
        ("div", (power + 1, total), seen.count),
        ("mul", (term, reciprocal), seen.entries, "activation"),
        ("addsub", (product, power - fraction), seen.entries),
        ("shift", (product,), seen.entries),
    )


OP = Op(
    name="softmax_recip",
    summary="softmax of a row, from a table of exp; one division for each row, then products",
    attributes=(
        FRACTION,
        Attribute("reciprocal", "int", "K: the reciprocal of the row sum S is 2^K // S"),
        CLAMP,
        HIDDEN,
    ),
    inputs=("x", "exp_table", "mask?"),
    roles={"exp_table": Role.TABLE, "mask": Role.MASK},
    signature=Signature(
        "SoftmaxRecip",
        (X, X_SCALE, Input("exp_table", Role.TABLE), Input("recip_one", Role.CONSTANT), Y_SCALE),
        masked=True,
    ),
    primitives=frozenset({"cmp", "select", "addsub", "lut", "shift", "div", "mul"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derivation("softmax_recip", 2),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=TERMS_HELD | {"plain.inverse": "reciprocal", "plain.mul": "product", "plain.addsub": "product"},
)
