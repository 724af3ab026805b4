"""What the shift norms share: shift_norm_l1, shift_norm_l2.

    c_i = N q_i - sum q,   k = number of thresholds that the statistic of c reaches
    y_i = round(c_i 2**(F + g_i - k)) + beta_i

`round` is to the nearest, halves away from 0; g_i is the exponent of the gain. The statistic is sum |c|
(l1) or V = N sum q**2 - (sum q)**2 (l2), and the thresholds are those from which on N sigma is nearer to
2**j than to 2**(j-1) in the log domain (mfsim/ops/norm/tables.py). So 1/sigma is a power of two: a row is
the float row times one gain, 2**-1/2 .. 2**1/2, for the sigma of its own kind. N q is always shifts and
additions.

Range: c**2 is at most (N - 1) V and c at most half of sum |c|, and a statistic below the threshold of
k + 1 bounds them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Scale
from mfsim.ops.norm.definition import (
    Row,
    centred_row,
    centring_rows,
    channel_range,
    check_offsets,
    half_away,
    rounded_root,
    spread_rows,
)
from mfsim.ops.norm.tables import GAIN_PLACES
from mfsim.ops.op import Attribute, Inference, result, rows
from mfsim.ops.row_functions import FRACTION, by_rows, check_fraction, row_count

ATTRIBUTES = (
    FRACTION,
    Attribute("exponents", "ints", f"g: one gain 2^g for each channel, -{GAIN_PLACES}..{GAIN_PLACES}"),
)

PRIMITIVES = frozenset({"addsub", "cmp", "select", "lut", "shift", "abs", "neg"})


def places(attributes) -> list[int]:
    """Return the places by which a magnitude is shifted left for each channel: F + g + 8.

    Parameters
    ----------
    attributes : mapping
        `fraction` F, and `exponents` g in -8..8.

    Returns
    -------
    list of int
        Bits, at least 0.
    """
    return [attributes["fraction"] + g + GAIN_PLACES for g in attributes["exponents"]]


def _check(op: str, row: Row, thresholds, attributes) -> list[int]:
    """Return the thresholds as ints, all checked."""
    check_fraction(op, attributes["fraction"], 0)
    gains = attributes["exponents"]
    if len(gains) != row.length or any(abs(g) > GAIN_PLACES for g in gains):
        raise FormatError(
            f"`exponents` of op `{op}` must be {row.length} ints in -{GAIN_PLACES}..{GAIN_PLACES}, one for each channel"
        )
    if not thresholds.is_constant or len(thresholds.shape) != 1:
        raise ShapeError(f"the thresholds of op `{op}` must be a constant of one axis")
    codes = [int(code) for code in thresholds.codes]
    if any(low >= high for low, high in zip([0, *codes], codes, strict=False)):
        raise FormatError(f"the thresholds of op `{op}` must be positive and ascend")
    return codes


def _normalised(row: Row, squares: bool, thresholds: list[int], attributes) -> list[int]:
    """Return the greatest magnitude of each channel before beta."""
    greatest = row.spread if squares else row.absolute_sum
    worst = Fraction(0)
    for k, least in enumerate([1, *thresholds]):
        if least > greatest:
            break
        most = min([greatest, *(t - 1 for t in thresholds[k : k + 1])])
        square = Fraction(row.ratio * most) if squares else Fraction(most, 2) ** 2
        worst = max(worst, min(square, Fraction(row.deviation) ** 2) / 4**k)
    return [rounded_root(worst * Fraction(4) ** (attributes["fraction"] + g)) for g in attributes["exponents"]]


SHIFTED_HELD = {"shift_rows.addsub": "numerator", "shift_rows.host_places": "places", "shift_rows.y": "normalised"}
"""Which word holds which value from the magnitudes on."""


def infer(op: str, squares: bool, tensors, attributes):
    """Prove a shift norm of the inputs x, thresholds and beta, with the statistic of `squares` or magnitudes.

    Parameters
    ----------
    op : its name
    squares : whether the statistic is the variance, not the mean magnitude
    tensors : x [..., N], thresholds and beta [N]
    attributes : complete
    """
    x, thresholds, beta = tensors
    row = Row.of(op, x, centred=True)
    steps = _check(op, row, thresholds, attributes)
    check_offsets(op, beta, row.length, attributes["fraction"])
    words = row.words() | (row.square_words() if squares else {})
    if not squares:
        words["statistic"] = Format.of_range(0, row.absolute_sum, "the sum of magnitudes")
    words["places"] = Format.of_range(0, len(steps) + GAIN_PLACES, "the places of a shift")
    half = 1 << (len(steps) + GAIN_PLACES - 1)
    Format.of_range(0, 4 * half, "the divisor of a shift norm")
    numerator = (row.deviation << max(places(attributes))) + half
    # The body in a file doubles the numerator.
    Format.of_range(0, 2 * numerator, "the numerator of a shift norm, doubled")
    words["numerator"] = Format.of_range(0, numerator, "the numerator of a shift norm")
    bounds = _normalised(row, squares, steps, attributes)
    words["normalised"] = Format.of_range(-max(bounds), max(bounds), "a normalised code")
    range_ = channel_range(bounds, [int(code) for code in beta.codes], len(x.shape) - 1)
    return Inference((result(x.shape, range_, Scale.of(-attributes["fraction"]), op),), words)


def reference(squares: bool, inputs, attributes):
    """Return the norm of each row, from the definition.

    Parameters
    ----------
    squares : as in `infer`
    inputs : object arrays of Python ints, x, thresholds and beta
    attributes : complete
    """
    x, thresholds, beta = inputs

    def normalised(row: list[int]) -> list[int]:
        deviations = centred_row(row)
        statistic = sum(d * d for d in deviations) // len(row) if squares else sum(map(abs, deviations))
        k = sum(statistic >= int(t) for t in thresholds)
        gains = [Fraction(2) ** (attributes["fraction"] + g - k) for g in attributes["exponents"]]
        values = [d * gain for d, gain in zip(deviations, gains, strict=True)]
        codes = [half_away(value.numerator, value.denominator) for value in values]
        return [code + int(b) for code, b in zip(codes, beta, strict=True)]

    return [by_rows(np.asarray(x), normalised)]


def count(squares: bool, node, inputs, outputs):
    """Return the operations of one sample: the statistic, a search among the thresholds, shifts.

    Parameters
    ----------
    squares : as in `infer`
    node : of one of the norms
    inputs, outputs : its tensors
    """
    x, thresholds, beta = inputs
    words, length = node.words, int(x.shape[-1])
    n = row_count(x)
    steps = thresholds.shape[0].bit_length()
    centred, numerator = words["centred"].bits, words["numerator"].bits
    statistic = words["spread" if squares else "statistic"].bits
    if squares:
        measured = spread_rows(node, x, length, n)
    else:
        measured = [("addsub", (statistic, centred), n * (length - 1))]
    return rows(
        node,
        *centring_rows(node, x, length, n),
        ("abs", (centred,), n * length),
        *measured,
        ("lut", (steps, thresholds.format.bits), n * steps),
        ("cmp", (statistic, thresholds.format.bits), n * steps),
        ("select", (steps,), n * steps),
        ("shift", (1, words["places"].bits), n),
        ("shift", (centred,), n * sum(p > 0 for p in places(node.attributes))),
        ("addsub", (numerator, thresholds.shape[0] + GAIN_PLACES), n * length),
        ("shift", (numerator, words["places"].bits), n * length),
        ("neg", (words["normalised"].bits,), n * length),
        ("addsub", (words["normalised"].bits, beta.format.bits), n * length),
    )
