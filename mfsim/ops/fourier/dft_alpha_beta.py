"""dft_alpha_beta: estimates of abs(F x) / sqrt(n) of each row of n = 2**q codes, without squares and roots.

    X = B(2**G x), the fixed-point Fourier transform of `mfsim/ops/fourier/dft_magnitude.py`
    M_k, m_k = the greater and the smaller of |re X_k| and |im X_k|
    s_k = max(8 M_k + m_k, 7 M_k + 4 m_k)
    y_k = round(s_k f 2**h), halves up,    h = e - G + F - floor(q/2) - 3, and T less for odd q

x lies on 2**e, y on 2**-F; f = 1 for even q, and for odd q sqrt(1/2) on 2**-T. Bins above n/2 are copies; in the two real
bins m = 0 and s = 8 |X|. `products` says how products with cosines (and f) are computed: mul, or shift (a shift for each
signed digit above place 0, and additions); the codes are the same. With shift nothing is multiplied.

s/8 lies between 11/sqrt(128) = 0.972 and sqrt(65)/8 = 1.008 times the magnitude (the first where m = M, the second where
m = M/8 or 4M/7). So an estimate of exact bins, which is the float function of the layer, differs from abs(F x) / sqrt(n) by
at most 2.8 % of it; and a result differs from it, for every row, by at most 1/2 LSB for the rounding plus
`derived.dft.estimate_error`, which `defaults` keeps at 1/4: estimates of two bins differ by at most 1.008 times the
distance of the bins.
Source: "An Improved Digital Algorithm for Fast Amplitude Approximations of Quadrature Pairs", DSN Progress Report 42-40,
Jet Propulsion Laboratory, 1977, pp. 97-101.
"""

from __future__ import annotations

import collections
import math
from fractions import Fraction

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.fourier.definition import PRODUCTS, cosines_met, length_and_bits, multiplied
from mfsim.ops.fourier.dft_magnitude import TRANSFORM_HELD, spectrum
from mfsim.ops.fourier.dft_tables import STRETCH, bin_error, cosines, estimate_places
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.row_functions import FRACTION, by_rows, check_fraction, row_count
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

MOST_GUARD = 30


def _size(x, table) -> tuple[int, int]:
    """Return n and T, both inputs checked."""
    return length_and_bits("dft_alpha_beta", x, "cosines", table, cosines)


def _derive(tensors, attributes):
    """Return h."""
    x, table = tensors
    n, bits = _size(x, table)
    return {"shift": estimate_places(n, attributes["guard"], attributes["fraction"], x.scale.exponent, bits)}


def _infer(tensors, attributes):
    x, table = tensors
    n, bits = _size(x, table)
    guard, fraction = attributes["guard"], attributes["fraction"]
    check_fraction("dft_alpha_beta", fraction, -31)
    if not 0 <= guard <= MOST_GUARD:
        raise FormatError(f"`guard` of op `dft_alpha_beta` must be in 0..{MOST_GUARD}, not {guard}")
    shift = _derive(tensors, attributes)["shift"]
    if attributes["shift"] != shift:
        raise FormatError(f"`shift` of op `dft_alpha_beta` must be {shift} for its scales, not {attributes['shift']}")
    largest, several = x.range.bound << guard, attributes["products"] == "shift"
    half, whole = (m * largest + bin_error(m, largest, bits) for m in (n // 2, n))
    factor = int(table.codes[n // 8]) if n.bit_length() % 2 == 0 else 1
    estimate = math.floor(8 * STRETCH * whole)
    end = estimate * factor
    raised = (2 if several else 1) * end + (1 << -shift - 1 if shift < 0 else 0)
    # A cosine of sqrt(1/2) meets re - im; every other one a part of its own. |W| is at most 1 + 2**-T.
    pair, product = math.floor(half * Fraction(3, 2)), math.floor(half * ((1 << bits) + 1))
    product = (4 if several else 1) * product + (1 << bits - 1)
    words = {
        "bin": Format.of_range(-math.floor(whole), math.floor(whole), "a bin of a Fourier transform"),
        "pair": Format.of_range(-pair, pair, "the sum of both parts of a bin"),
        "product": Format.of_range(-product, product, "a bin times a cosine"),
        "estimate": Format.of_range(0, math.floor(11 * whole), "an estimate"),
        "end": Format.of_range(0, raised << max(shift, 0), "an estimate before it is rounded"),
    }
    greatest = end << shift if shift >= 0 else (end + (1 << -shift - 1)) >> -shift
    y = result(x.shape, Range.of(0, greatest), Scale.of(-fraction), "the result of dft_alpha_beta")
    return Inference((y,), words)


def _reference(inputs, attributes):
    """Return the estimates of all bins, from the definition."""
    x, table = inputs
    table = [int(code) for code in table]

    def estimates(row: list[int]) -> list[int]:
        n = len(row)
        factor = Fraction(2) ** attributes["shift"] * (table[n // 8] if n.bit_length() % 2 == 0 else 1)
        found = []
        for parts in spectrum([code * 2 ** attributes["guard"] for code in row], table, n):
            smaller, greater = sorted(abs(part) for part in parts)
            found.append(math.floor(max(8 * greater + smaller, 7 * greater + 4 * smaller) * factor + Fraction(1, 2)))
        return found + found[-2:0:-1]

    return [by_rows(np.asarray(x), estimates)]


def _count(node, inputs, outputs):
    """Return the operations of one sample: transform, estimates, roundings; mirrored bins are copies."""
    x, table = inputs
    words, attributes, n, times = node.words, node.attributes, int(x.shape[-1]), row_count(x)
    q, half, odd, shift = n.bit_length() - 1, n // 2 - 1, n.bit_length() % 2 == 0, attributes["shift"]
    turned, level = (q - 1) * n // 4 - half, n // 4 - 1
    bits, one, product = words["bin"].bits, table.format.bits, words["product"].bits
    pair, estimate, end = words["pair"].bits, words["estimate"].bits, words["end"].bits
    constants = collections.Counter[int]()
    for place, met in cosines_met(n).items():
        constants[int(table.codes[place])] += times * met
    factor = {int(table.codes[n // 8]): times * (half + 2)} if odd else {}
    return rows(
        node,
        ("shift", (x.format.bits,), times * n * (attributes["guard"] > 0)),
        ("addsub", (bits, bits), times * (2 * (n - 1) + 4 * turned)),
        ("addsub", (pair, pair), times * 2 * level),
        ("addsub", (product, product), times * 2 * (turned - level)),
        *multiplied(constants, (pair, one), product, attributes["products"], "fixed"),
        ("addsub", (product, -table.scale.exponents[0]), times * 2 * turned),
        ("shift", (product,), times * 2 * turned),
        ("abs", (bits,), times * (2 * half + 2)),
        ("cmp", (bits, bits), times * half),
        ("select", (bits, bits), times * 2 * half),
        ("shift", (bits,), times * 2 * half),
        ("addsub", (estimate, estimate), times * 3 * half),
        ("cmp", (estimate, estimate), times * half),
        ("select", (estimate, estimate), times * half),
        *multiplied(factor, (estimate, one), end, attributes["products"], "fixed"),
        ("addsub", (end, max(1, -shift)), times * (half * (shift < 0) + 2 * (shift + 3 < 0))),
        ("shift", (end,), times * (half * (shift != 0) + 2 * (shift + 3 != 0))),
    )


OP = Op(
    name="dft_alpha_beta",
    summary="estimates of magnitudes of the Fourier transform of the last axis, without squares and roots",
    attributes=(
        FRACTION,
        Attribute("guard", "int", "G: bits that the transform has behind the codes"),
        Attribute("products", "str", "products with cosines, or shifts and additions", "mul", PRODUCTS),
        Attribute("shift", "int", "h: places between an estimate and its result", derived=True),
    ),
    inputs=("x", "cosines"),
    roles={"cosines": Role.FACTOR},
    signature=Signature(
        "DFTAlphaBeta",
        (
            X,
            X_SCALE,
            Input("places", Role.CONSTANT),
            Input("weights", Role.FACTOR),
            Input("bins", Role.CONSTANT),
            Input("factors", Role.FACTOR),
            Y_SCALE,
        ),
        ("products",),
    ),
    primitives=frozenset({"addsub", "shift", "mul", "abs", "cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    integer_body=True,
    held=TRANSFORM_HELD
    | {
        "estimate.addsub": "estimate",
        "plain>times.return": "end",
        "plain>rounded.addsub": "end",
        "plain.y": "end",
    },
)
