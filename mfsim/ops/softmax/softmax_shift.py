"""softmax_shift: softmax with the row sum rounded to a power of two; no multiplication, no division.

    k   = number of thresholds that S reaches,  thresholds[j-1] = ceil(2**(j - 1/2)), j = 1 .. P + n + 1
    y_i = (t_i + 2**(k-F-1)) >> (k - F)

m, d, t and S are those of softmax (`mfsim/ops/softmax/softmax_definition.py`). k is log2 S rounded, so a row sums to
2**-1/2 .. 2**1/2 instead of 1: up to 29 % from the float softmax. It is no approximation of that one but of
`mfsim.nn.Softmax(form="shift")`, from which it differs by at most 1/2 + 2**(F-P-1) LSB where both round to one k.
S >= 2**P reaches the first P thresholds without being compared, and k >= P >= F + 1.
"""

from __future__ import annotations

import bisect

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.op import Inference, Op, result, rows
from mfsim.ops.softmax.rows import (
    CLAMP,
    FRACTION,
    HIDDEN,
    check_fraction,
    check_thresholds,
    grid,
    result_range,
    search_rows,
)
from mfsim.ops.softmax.softmax_definition import TERMS_HELD, Terms, derivation, mask_of, term_rows, terms_of, weighed
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X


def _infer(tensors, attributes):
    x, fraction = tensors[0], check_fraction("softmax_shift", attributes)
    terms = terms_of("softmax_shift", tensors, attributes, 3)
    thresholds = check_thresholds("softmax_shift", tensors[2])
    if bisect.bisect_right(thresholds, terms.top) <= fraction:
        raise FormatError(
            f"the sum 2^{terms.table_bits} of op `softmax_shift` must reach more than {fraction} thresholds, one for "
            "each fraction bit; use a table of more bits"
        )

    def value(t, total):
        k = bisect.bisect_right(thresholds, total)
        return (t + (1 << k - fraction - 1)) >> (k - fraction)

    lo, hi = terms.bounds(value)
    most = bisect.bisect_right(thresholds, terms.greatest_sum)
    words = {
        **terms.words(),
        "exponent": Format.of_range(0, most, "the exponent of a softmax"),
        "power": Format.of_range(0, 1 << most - fraction, "the divisor of a softmax"),
        "numerator": Format.of_range(0, terms.top + (1 << most - fraction - 1), "the numerator of a softmax"),
    }
    output = result(x.shape, result_range(terms.rows, lo, hi), grid(fraction), "the result of softmax_shift")
    return Inference((output,), words, terms.is_tight(x))


def _reference(inputs, attributes):
    x, table, thresholds, *masks = inputs

    def divided(d, t, total):
        places = sum(1 for threshold in thresholds if total >= threshold) - attributes["fraction"]
        return (t + 2 ** (places - 1)) // 2**places

    return [weighed(x, table, masks, divided)]


def _count(node, inputs, outputs):
    x, table, thresholds = inputs[:3]
    terms = Terms.of("softmax_shift", x, table, mask_of(inputs, 3))
    seen, searched = terms.rows, sum(int(code) > terms.top for code in thresholds.codes)
    total, term, exponent, power, numerator = (
        node.words[name].bits for name in ("sum", "term", "exponent", "power", "numerator")
    )
    return rows(
        node,
        *term_rows(node, x, table, seen, raised=False),
        *search_rows(total, thresholds.format.bits, searched, seen.count),
        ("addsub", (exponent, exponent), seen.count),
        ("shift", (1,), seen.count),
        ("shift", (power,), seen.count),
        ("addsub", (term, numerator), seen.entries),
        ("shift", (numerator,), seen.entries),
    )


OP = Op(
    name="softmax_shift",
    summary="softmax of a row with its sum rounded to a power of two; no multiplication or division",
    attributes=(FRACTION, CLAMP, HIDDEN),
    inputs=("x", "exp_table", "thresholds", "mask?"),
    roles={"exp_table": Role.TABLE, "thresholds": Role.STEPS, "mask": Role.MASK},
    signature=Signature(
        "SoftmaxShift",
        (X, X_SCALE, Input("exp_table", Role.TABLE), Input("thresholds", Role.STEPS), Y_SCALE),
        masked=True,
    ),
    primitives=frozenset({"cmp", "select", "addsub", "lut", "shift"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derivation("softmax_shift", 3),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=TERMS_HELD
    | {"plain.reached": "exponent", "plain.shift_left": "power", "plain.shift_right.addsub": "numerator"},
)
