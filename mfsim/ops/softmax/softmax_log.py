"""softmax_log: softmax by a subtraction in the log domain; no multiplication, no division.

    j   = number of thresholds that S reaches,  thresholds[j-1] = 2**(P+j), j = 1 .. n + 1
    u   = round(S 2**M / 2**(P+j)) - 2**M         in 0 .. 2**M, halves up: the mantissa of S
    L   = lnk_table[j] + lnm_table[u]             ln(S / 2**P) on the grid gain 2**-(e+g)
    y_i = out_table[min(2**g d_i + L, size - 1)]

m, d, t and S are those of softmax (`mfsim/ops/softmax/softmax_definition.py`), the tables are in `mfsim/ops/softmax/tables.py`:
lnk[j] stands for j ln 2, lnm[u] for ln(1 + u 2**-M), out[v] for exp(-v) on the grid 2**-F. The rounded mantissa has
2**M + 1 values: a truncated one would give a row of one weight less than 1. Error against the float softmax
p of gain x: at most 1/2 + 2**F p (exp(E) - 1) LSB with E = gain 2**-(e+g) + 2**-(M+1) + N 2**-(P+1), for the two
roundings of L, that of the mantissa, and those of the terms.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.softmax.rows import (
    CLAMP,
    FRACTION,
    HIDDEN,
    check_fraction,
    check_thresholds,
    grid,
    result_range,
    search_rows,
    table_codes,
)
from mfsim.ops.softmax.softmax_definition import TERMS_HELD, Terms, derivation, mask_of, term_rows, terms_of, weighed
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

NAME = "softmax_log"

CLAMP_OUT = Attribute(
    "clamp_out", "str", "whether the end of the table of results has to be compared", None, CLAMP.choices, derived=True
)

_derive_terms = derivation(NAME, 6)


@dataclass(frozen=True)
class Logarithm:
    """L of a row sum: the tables, checked against the table of exp."""

    table_bits: int
    mantissa_bits: int
    lnk: tuple[int, ...]
    lnm: tuple[int, ...]

    @classmethod
    def of(cls, tensors, terms: Terms) -> Logarithm:
        """Return the logarithm of sums of `terms`.

        Parameters
        ----------
        tensors : sequence of Tensor
            (x, exp_table, thresholds, lnk_table, lnm_table, ...).
        terms : Terms
            Bounds of the sums.

        Returns
        -------
        Logarithm
            With Python ints.

        Raises
        ------
        ShapeError
            If a table is not a constant with one axis.
        FormatError
            If thresholds or tables do not suit the table of exp.
        """
        thresholds = check_thresholds(NAME, tensors[2])
        lnk, lnm = (table_codes(NAME, f"{name}_table", t) for name, t in zip(("lnk", "lnm"), tensors[3:5], strict=True))
        bits = terms.table_bits
        if thresholds != [1 << bits + j for j in range(1, len(thresholds) + 1)]:
            raise FormatError(
                f"`thresholds` of op `{NAME}` must be the powers of two from 2^{bits + 1}, twice the first term"
            )
        if len(thresholds) < terms.greatest_sum.bit_length() - 1 - bits or len(lnk) <= len(thresholds):
            raise FormatError(
                f"`thresholds` and `lnk_table` of op `{NAME}` must have an entry for each length of a row sum"
            )
        mantissa_bits = (len(lnm) - 1).bit_length() - 1
        if len(lnm) != (1 << max(mantissa_bits, 0)) + 1 or not 0 < mantissa_bits < bits:
            raise FormatError(f"`lnm_table` of op `{NAME}` must have 2^M + 1 entries, 0 < M < {bits}, not {len(lnm)}")
        if min(lnk) < 0 or min(lnm) < 0 or any(a > b for a, b in itertools.pairwise(lnm)):
            raise FormatError(
                f"`lnk_table` and `lnm_table` of op `{NAME}` must have no negative entry, and lnm must not fall"
            )
        return cls(bits, mantissa_bits, tuple(lnk), tuple(lnm))

    def of_sum(self, total: int) -> int:
        """Return L of one sum.

        Parameters
        ----------
        total : int
            From 2**P to the greatest sum of the terms.

        Returns
        -------
        int
            In steps of d 2**g, at least 0.
        """
        j = total.bit_length() - 1 - self.table_bits
        places = self.table_bits + j - self.mantissa_bits
        mantissa = (total + (1 << places - 1)) >> places
        return self.lnk[j] + self.lnm[mantissa - (1 << self.mantissa_bits)]

    def bounds(self, least: int, greatest: int) -> tuple[int, int]:
        """Return the bounds of L for sums in least..greatest: L rises between powers of two.

        Parameters
        ----------
        least, greatest : int
            Sums, least at least 2**P.

        Returns
        -------
        (int, int)
            Least and greatest L.
        """
        powers = range(least.bit_length(), greatest.bit_length())
        met = [self.of_sum(s) for s in (least, greatest, *((1 << b) - below for b in powers for below in (0, 1)))]
        return min(met), max(met)


def _places(tensors, attributes, terms: Terms) -> tuple[int, int, int, int]:
    """Return the greatest L, the greatest place in the table of results, and the least and greatest result."""
    out = table_codes(NAME, "out_table", tensors[5])
    if out[-1] < 0 or any(a < b for a, b in itertools.pairwise(out)):
        raise FormatError(f"`out_table` of op `{NAME}` must never rise and have no negative entry")
    if not 0 <= attributes["fine_bits"] <= 24:
        raise FormatError(f"`fine_bits` of op `{NAME}` must be in 0..24, not {attributes['fine_bits']}")
    logarithm = Logarithm.of(tensors, terms)
    low, high = logarithm.bounds(terms.least_sum(terms.top, terms.rows.fewest), terms.greatest_sum)
    last = (terms.spread << attributes["fine_bits"]) + high
    return high, last, out[min(last, len(out) - 1)], out[min(low, len(out) - 1)]


def _derive(tensors, attributes):
    terms = Terms.of(NAME, tensors[0], tensors[1], mask_of(tensors, 6))
    last = _places(tensors, attributes, terms)[1]
    return {**_derive_terms(tensors, attributes), "clamp_out": "high" if last >= tensors[5].shape[0] else "none"}


def _infer(tensors, attributes):
    x, fraction = tensors[0], check_fraction(NAME, attributes)
    terms = terms_of(NAME, tensors, attributes, 6)
    logarithm, last, lo, hi = _places(tensors, attributes, terms)
    if attributes["clamp_out"] == "none" and last >= tensors[5].shape[0]:
        raise FormatError(f"`clamp_out` of op `{NAME}` must not be none: an index may pass the end of the table")
    mantissa_bits = (tensors[4].shape[0] - 1).bit_length() - 1
    half = 1 << terms.greatest_sum.bit_length() - 2 - mantissa_bits
    words = {
        **terms.words(),
        "rounded": Format.of_range(0, terms.greatest_sum + half, "the rounded row sum of a softmax"),
        "logarithm": Format.of_range(0, logarithm, "the logarithm of a softmax"),
        "place": Format.of_range(0, last, "the place in the table of results of a softmax"),
    }
    output = result(x.shape, result_range(terms.rows, lo, hi), grid(fraction), "the result of softmax_log")
    return Inference((output,), words)


def _reference(inputs, attributes):
    x, table, thresholds, lnk, lnm, out, *masks = inputs
    mantissas = len(lnm) - 1

    def divided(d, t, total):
        j = sum(1 for threshold in thresholds if total >= threshold)
        power = table[0] * 2**j
        u = (2 * total * mantissas + power) // (2 * power) - mantissas
        return out[min(d * 2 ** attributes["fine_bits"] + lnk[j] + lnm[u], len(out) - 1)]

    return [weighed(x, table, masks, divided)]


def _count(node, inputs, outputs):
    x, table, thresholds, lnk, lnm, out = inputs[:6]
    seen = Terms.of(NAME, x, table, mask_of(inputs, 6)).rows
    rounded, logarithm, place = (node.words[name].bits for name in ("rounded", "logarithm", "place"))
    total, distance = node.words["sum"].bits, node.words["distance"].bits
    compared = seen.entries * (node.attributes["clamp_out"] == "high")
    places = max(1, (lnk.shape[0] - 1).bit_length())
    least = int(table.codes[0]).bit_length() - (lnm.shape[0] - 1).bit_length()
    return rows(
        node,
        *term_rows(node, x, table, seen, raised=True),
        *search_rows(total, thresholds.format.bits, thresholds.shape[0], seen.count),
        ("shift", (rounded,), seen.count),
        ("addsub", (places, max(1, least.bit_length())), seen.count),
        ("addsub", (total, rounded), seen.count),
        ("shift", (rounded,), seen.count),
        ("lut", (places, lnk.format.bits), seen.count),
        ("lut", ((lnm.shape[0] - 1).bit_length(), lnm.format.bits), seen.count),
        ("addsub", (lnk.format.bits, lnm.format.bits), seen.count),
        ("shift", (distance,), seen.entries * (node.attributes["fine_bits"] > 0)),
        ("addsub", (place, logarithm), seen.entries),
        ("cmp", (place,), compared),
        ("select", (place,), compared),
        ("lut", (max(1, (out.shape[0] - 1).bit_length()), out.format.bits), seen.entries),
        ("select", (out.format.bits,), seen.entries * seen.live),
    )


OP = Op(
    name=NAME,
    summary="softmax of a row by a subtraction in the log domain; no multiplication or division",
    attributes=(
        FRACTION,
        Attribute("fine_bits", "int", "g: the logarithm lies on a grid 2^g times finer than x"),
        CLAMP,
        CLAMP_OUT,
        HIDDEN,
    ),
    inputs=("x", "exp_table", "thresholds", "lnk_table", "lnm_table", "out_table", "mask?"),
    roles={
        "exp_table": Role.TABLE,
        "thresholds": Role.STEPS,
        "lnk_table": Role.STEPS,
        "lnm_table": Role.TABLE,
        "out_table": Role.TABLE,
        "mask": Role.MASK,
    },
    signature=Signature(
        "SoftmaxLog",
        (
            X,
            X_SCALE,
            Input("exp_table", Role.TABLE),
            Input("thresholds", Role.STEPS),
            Input("lnk_table", Role.STEPS),
            Input("lnm_table", Role.TABLE),
            Input("out_table", Role.TABLE),
            Input("fine", Role.CONSTANT),
            Y_SCALE,
        ),
        masked=True,
    ),
    primitives=frozenset({"cmp", "select", "addsub", "lut", "shift"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=TERMS_HELD
    | {"logarithm.shift_right.addsub": "rounded", "logarithm.return": "logarithm", "plain.place": "place"},
)
