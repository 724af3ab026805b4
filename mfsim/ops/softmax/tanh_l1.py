"""tanh_l1: signed weights whose magnitudes sum to about 1, each by a division.

    t_i = tanh_table[min(|x_i|, size - 1)];  L = eps + sum t
    y_i = sign(x_i) ((2**(F+1) t_i + L) // (2 L))       t_i / L on the grid 2**-F, halves away from 0

tanh_table[a] = round(2**P tanh(gain a 2**-e)) for x on 2**-e, eps at least 1 (`mfsim/ops/softmax/tables.py`).
Error against A = tanh(gain x) / (eps + sum |tanh(gain x)|): at most 1/2 + 2**F (1/2 + |A| (N/2 + 1)) / L LSB,
since t is off by at most 1/2, and L by N/2 and by less than 1 for eps. Masks: `mfsim/ops/softmax/rows.py`.
"""

from __future__ import annotations

from mfsim.ir.formats import Format
from mfsim.ops.op import Inference, Op, result, rows
from mfsim.ops.softmax.rows import CLAMP, FRACTION, check_fraction, grid, result_range
from mfsim.ops.softmax.tanh_l1_definition import (
    DIVISOR_HELD,
    EPS,
    checked,
    derivation,
    magnitude_rows,
    magnitudes,
    weighed,
)
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X


def _infer(tensors, attributes):
    x, fraction = tensors[0], check_fraction("tanh_l1", attributes)
    found = checked("tanh_l1", tensors, attributes, 2)

    def value(t, total):
        return ((t << fraction + 1) + total) // (2 * total)

    lo, hi = found.bounds(value)
    numerator = (max(found.terms) << fraction + 1) + found.greatest_sum
    words = {
        **found.words(),
        "numerator": Format.of_range(0, numerator, "the numerator of a tanh-l1"),
        "quotient": Format.of_range(0, max(-lo, hi), "the magnitude of a tanh-l1"),
    }
    output = result(x.shape, result_range(found.rows, lo, hi), grid(fraction), "the result of tanh_l1")
    return Inference((output,), words, found.is_tight(x))


def _reference(inputs, attributes):
    x, table, *masks = inputs
    one = 2 ** attributes["fraction"]
    return [weighed(x, table, masks, attributes["eps"], lambda t, total: (2 * t * one + total) // (2 * total))]


def _count(node, inputs, outputs):
    x, table = inputs[:2]
    seen = magnitudes("tanh_l1", inputs, node.attributes, 2).rows
    term, total, numerator = (node.words[name].bits for name in ("term", "sum", "numerator"))
    return rows(
        node,
        *magnitude_rows(node, x, table, seen),
        ("shift", (term,), seen.entries),
        ("addsub", (numerator, total), seen.entries),
        ("shift", (total,), seen.count),
        ("div", (numerator, total + 1), seen.entries),
    )


OP = Op(
    name="tanh_l1",
    summary="tanh over its l1 norm in a row, from a table of tanh; a division for each entry",
    attributes=(FRACTION, EPS, CLAMP),
    inputs=("x", "tanh_table", "mask?"),
    roles={"tanh_table": Role.TABLE, "mask": Role.MASK},
    signature=Signature(
        "TanhL1", (X, X_SCALE, Input("tanh_table", Role.TABLE), Input("eps", Role.CONSTANT), Y_SCALE), masked=True
    ),
    primitives=frozenset({"abs", "cmp", "select", "lut", "addsub", "shift", "div", "neg"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derivation("tanh_l1", 2),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=DIVISOR_HELD | {"plain.divide.addsub": "numerator", "plain.divide": "quotient"},
)
