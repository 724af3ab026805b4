"""tanh_l1_shift: tanh-l1 with its divisor rounded to a power of two; no multiplication, no division.

    k   = number of thresholds that L reaches,  thresholds[j-1] = ceil(2**(j - 1/2)), j = 1 .. P + n + 2
    y_i = sign(x_i) ((2**(F+1) t_i + 2**k) >> (k + 1))

t and L are those of tanh_l1 (`mfsim/ops/softmax/tanh_l1_definition.py`). k is log2 L rounded, so the magnitudes of a row sum to about
2**-1/2 .. 2**1/2 instead of 1: up to 29 % from tanh-l1. It is no approximation of that one but of
`mfsim.nn.TanhL1(form="shift")`, from which it differs by at most 1/2 + 2**F / 2**(k+1) LSB where both round to one k.
"""

from __future__ import annotations

import bisect

from mfsim.ir.formats import Format
from mfsim.ops.op import Inference, Op, result, rows
from mfsim.ops.softmax.rows import CLAMP, FRACTION, check_fraction, check_thresholds, grid, result_range, search_rows
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
    x, fraction = tensors[0], check_fraction("tanh_l1_shift", attributes)
    found = checked("tanh_l1_shift", tensors, attributes, 3)
    thresholds = check_thresholds("tanh_l1_shift", tensors[2])

    def value(t, total):
        k = bisect.bisect_right(thresholds, total)
        return ((t << fraction + 1) + (1 << k)) >> k + 1

    lo, hi = found.bounds(value)
    most = bisect.bisect_right(thresholds, found.greatest_sum)
    numerator = (max(found.terms) << fraction + 1) + (1 << most)
    words = {
        **found.words(),
        "exponent": Format.of_range(0, most + 1, "the exponent of a tanh-l1"),
        "numerator": Format.of_range(0, numerator, "the numerator of a tanh-l1"),
        "quotient": Format.of_range(0, max(-lo, hi), "the magnitude of a tanh-l1"),
    }
    output = result(x.shape, result_range(found.rows, lo, hi), grid(fraction), "the result of tanh_l1_shift")
    return Inference((output,), words, found.is_tight(x))


def _reference(inputs, attributes):
    x, table, thresholds, *masks = inputs
    one = 2 ** attributes["fraction"]

    def divided(t, total):
        power = 2 ** sum(1 for threshold in thresholds if total >= threshold)
        return (2 * t * one + power) // (2 * power)

    return [weighed(x, table, masks, attributes["eps"], divided)]


def _count(node, inputs, outputs):
    x, table, thresholds = inputs[:3]
    seen = magnitudes("tanh_l1_shift", inputs, node.attributes, 3).rows
    term, total, exponent, numerator = (node.words[name].bits for name in ("term", "sum", "exponent", "numerator"))
    return rows(
        node,
        *magnitude_rows(node, x, table, seen),
        *search_rows(total, thresholds.format.bits, thresholds.shape[0], seen.count),
        ("shift", (1,), seen.count),
        ("addsub", (exponent, 1), seen.count),
        ("shift", (term,), seen.entries),
        ("addsub", (numerator, numerator), seen.entries),
        ("shift", (numerator,), seen.entries),
    )


OP = Op(
    name="tanh_l1_shift",
    summary="tanh over its l1 norm in a row rounded to a power of two; no multiplication or division",
    attributes=(FRACTION, EPS, CLAMP),
    inputs=("x", "tanh_table", "thresholds", "mask?"),
    roles={"tanh_table": Role.TABLE, "thresholds": Role.STEPS, "mask": Role.MASK},
    signature=Signature(
        "TanhL1Shift",
        (
            X,
            X_SCALE,
            Input("tanh_table", Role.TABLE),
            Input("eps", Role.CONSTANT),
            Input("thresholds", Role.STEPS),
            Y_SCALE,
        ),
        masked=True,
    ),
    primitives=frozenset({"abs", "cmp", "select", "lut", "addsub", "shift", "neg"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derivation("tanh_l1_shift", 3),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=DIVISOR_HELD
    | {"plain.places": "exponent", "plain.shift_right.addsub": "numerator", "plain.quotient": "quotient"},
)
