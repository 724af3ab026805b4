"""softmax: weights of a row that sum to about 1, each by a division.

    m = max x;  d_i = m - x_i;  t_i = exp_table[min(d_i, size - 1)];  S = sum t
    y_i = (2**(F+1) t_i + S) // (2 S)          t_i / S on the grid 2**-F, halves up

exp_table[d] = round(2**P exp(-gain d 2**-e)) for x on 2**-e (`mfsim/ops/softmax/tables.py`). Error against the
float softmax of gain x, with p its value: at most 1/2 + 2**(F-P-1) (1 + p N) LSB, since t is off by at most
1/2, S by N/2, and S >= 2**P; so P = max(12, F + ceil(log2 N)) keeps it at about 1 LSB. The order of a row is
kept: x_i >= x_j gives y_i >= y_j. Masks: `mfsim/ops/softmax/rows.py`.
"""

from __future__ import annotations

from mfsim.ir.formats import Format
from mfsim.ops.op import Inference, Op, result, rows
from mfsim.ops.softmax.rows import CLAMP, FRACTION, HIDDEN, check_fraction, grid, result_range
from mfsim.ops.softmax.softmax_definition import TERMS_HELD, Terms, derivation, mask_of, term_rows, terms_of, weighed
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X


def _infer(tensors, attributes):
    x, fraction = tensors[0], check_fraction("softmax", attributes)
    terms = terms_of("softmax", tensors, attributes, 2)
    lo, hi = terms.bounds(lambda t, total: ((t << fraction + 1) + total) // (2 * total))
    numerator = (terms.top << fraction + 1) + terms.greatest_sum
    words = {**terms.words(), "numerator": Format.of_range(0, numerator, "the numerator of a softmax")}
    output = result(x.shape, result_range(terms.rows, lo, hi), grid(fraction), "the result of softmax")
    return Inference((output,), words, terms.is_tight(x))


def _reference(inputs, attributes):
    x, table, *masks = inputs
    one = 2 ** attributes["fraction"]
    return [weighed(x, table, masks, lambda d, t, total: (2 * t * one + total) // (2 * total))]


def _count(node, inputs, outputs):
    x, table = inputs[:2]
    seen = Terms.of("softmax", x, table, mask_of(inputs, 2)).rows
    numerator, total, term = (node.words[name].bits for name in ("numerator", "sum", "term"))
    return rows(
        node,
        *term_rows(node, x, table, seen, raised=True),
        ("shift", (term,), seen.entries),
        ("addsub", (numerator, total), seen.entries),
        ("shift", (total,), seen.count),
        ("div", (numerator, total + 1), seen.entries),
    )


OP = Op(
    name="softmax",
    summary="softmax of a row, from a table of exp; a division for each entry",
    attributes=(FRACTION, CLAMP, HIDDEN),
    inputs=("x", "exp_table", "mask?"),
    roles={"exp_table": Role.TABLE, "mask": Role.MASK},
    signature=Signature("Softmax", (X, X_SCALE, Input("exp_table", Role.TABLE), Y_SCALE), masked=True),
    primitives=frozenset({"cmp", "select", "addsub", "lut", "shift", "div"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derivation("softmax", 2),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=TERMS_HELD | {"plain.addsub": "numerator"},
)
