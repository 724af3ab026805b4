"""What the norms that divide by a square root share: layer_norm, rms_norm and their reciprocal forms.

    W = V 4**G + eps,  D = max(1, isqrt(W)),  f = F + G - fg,  gamma = g 2**-fg

    division     y_i = round(c_i g_i 2**f / D) + beta_i
    reciprocal   R = 2**K // D;  y_i = sign(c_i g_i) ((|c_i g_i| R 2**f + 2**(K-1)) // 2**K) + beta_i

`round` is to the nearest, halves away from 0. The floored root is off by less than 1 in D >= 2**G sqrt(V),
so a normalised value is at most sqrt(c**2 / V) (1 + 1/D). Error against the float function, in LSB of
the result before saturation, for every row: 1/2 for the rounding, gamma / 4 for the root where G = F + 2,
gamma / 4 for the reciprocal where K is not capped, and what the rounding of eps adds (a relative
1 / (4 W), W >= 4**G). A root of many bits adds next to nothing: rows of normally distributed codes
of standard deviation 1 were measured at most 0.51 LSB away, 0.52 with the reciprocal.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from mfsim.errors import FormatError, RangeError
from mfsim.ir.formats import Format, Scale
from mfsim.ops.norm.definition import (
    TIMES_N,
    Row,
    centred_row,
    centring_rows,
    channel_range,
    check_channels,
    check_offsets,
    half_away,
    rounded_root,
    spread_rows,
    times_rows,
)
from mfsim.ops.norm.tables import RADICAND_BITS
from mfsim.ops.op import Attribute, Inference, result, rows
from mfsim.ops.row_functions import FRACTION, by_rows, check_fraction, row_count

ATTRIBUTES = (
    FRACTION,
    Attribute("guard", "int", "G: bits kept behind the point of the root"),
    Attribute("eps", "int", "added under the root, in units of V 4^-G"),
    TIMES_N,
    Attribute("shift", "int", "f = F + G - fg: places between a quotient and the result", derived=True),
)

RECIPROCAL = Attribute("reciprocal", "int", "K: the reciprocal of the root D is 2^K // D")

PRIMITIVES = frozenset({"addsub", "cmp", "select", "shift", "abs", "neg", "mul", "div", "sqrt"})


def derive(tensors, attributes):
    """Return f.

    Parameters
    ----------
    tensors : x, gamma and perhaps beta
    attributes : those of the op, `fraction` and `guard` among them
    """
    return {"shift": attributes["fraction"] + attributes["guard"] + tensors[1].scale.exponent}


def _root_bounds(op: str, row: Row, attributes) -> tuple[int, int, int]:
    """Return the greatest W, the least D of a row with a c other than 0, and the greatest D."""
    guard, eps = attributes["guard"], attributes["eps"]
    if not 0 <= guard < RADICAND_BITS // 2 or eps < 0:
        raise FormatError(f"`guard` of op `{op}` must be in 0..{RADICAND_BITS // 2 - 1} and `eps` at least 0")
    radicand = (row.spread << 2 * guard) + eps
    if radicand >= 1 << RADICAND_BITS:
        raise RangeError(
            f"the radicand of op `{op}` needs {radicand.bit_length()} bits, and at most {RADICAND_BITS} are possible; "
            "use fewer guard bits or a narrower input"
        )
    return radicand, max(1, math.isqrt((row.ratio << 2 * guard) + eps)), max(1, math.isqrt(radicand))


def _normalised(row: Row, gammas, gamma, attributes, least_root: int) -> list[int]:
    """Return the greatest magnitude of each channel before beta: by c**2 <= ratio V, and by the greatest |c|."""
    gain = Fraction(4) ** (attributes["fraction"] + gamma.scale.exponent)
    by_spread = row.ratio * Fraction(least_root + 1, least_root) ** 2
    by_deviation = Fraction(row.deviation << attributes["guard"], least_root) ** 2
    return [rounded_root(min(by_spread, by_deviation) * g * g * gain) for g in gammas]


_ROOT_HELD = {"guarded_root.addsub": "radicand", "guarded_root.return": "root"}

DIVIDED_HELD = {
    **_ROOT_HELD,
    "divide_rows.weighted": "weighted",
    "divide_rows.numerator": "numerator",
    "divide_rows.divisor": "divisor",
    "divide_rows.y": "normalised",
}

MULTIPLIED_HELD = {
    **_ROOT_HELD,
    "multiply_rows.weighted": "weighted",
    "multiply_rows.reciprocal": "reciprocal",
    "multiply_rows.product": "product",
    "multiply_rows.y": "normalised",
}
"""Which word holds which value from the radicand on: with a division for each code, with one for each row."""


def infer(op: str, centred: bool, tensors, attributes):
    """Prove a norm of the inputs x, gamma and, if `centred`, beta; with K where the attributes have it.

    Parameters
    ----------
    op : its name
    centred : whether the mean is subtracted
    tensors : x [..., N], gamma [N], and beta [N] if centred
    attributes : complete
    """
    x, gamma, *beta = tensors
    row = Row.of(op, x, centred)
    check_fraction(op, attributes["fraction"], -31)
    check_channels(op, "gamma", gamma, row.length)
    radicand, least_root, greatest_root = _root_bounds(op, row, attributes)
    gammas = [int(g) for g in gamma.codes]
    offsets = [0] * row.length
    if beta:
        check_offsets(op, beta[0], row.length, attributes["fraction"])
        offsets = [int(code) for code in beta[0].codes]
    weighted = row.deviation * max(map(abs, gammas))
    words = row.words() | row.square_words()
    words["radicand"] = Format.of_range(0, radicand, "the radicand")
    words["root"] = Format.of_range(1, greatest_root, "the root")
    words["weighted"] = Format.of_range(-weighted, weighted, "a code times gamma")
    shift = attributes["shift"]
    if shift != derive(tensors, attributes)["shift"]:
        raise FormatError(f"`shift` of op `{op}` must be {derive(tensors, attributes)['shift']} for its scales")
    if "reciprocal" in attributes:
        bounds = _reciprocal(op, row, gammas, attributes, least_root, words)
    else:
        up, down = 1 << max(shift, 0), 1 << max(-shift, 0)
        words["numerator"] = Format.of_range(0, 2 * weighted * up + greatest_root * down, "the numerator of a norm")
        words["divisor"] = Format.of_range(0, 2 * greatest_root * down, "the divisor of a norm")
        bounds = _normalised(row, gammas, gamma, attributes, least_root)
    words["normalised"] = Format.of_range(-max(bounds), max(bounds), "a normalised code")
    range_ = channel_range(bounds, offsets, len(x.shape) - 1)
    return Inference((result(x.shape, range_, Scale.of(-attributes["fraction"]), op),), words)


def _reciprocal(op: str, row: Row, gammas, attributes, least_root: int, words) -> list[int]:
    """Add the words of the reciprocal form and return the greatest magnitude of each channel before beta."""
    power, shift = attributes["reciprocal"], attributes["shift"]
    least, most = max(shift + 1, 1), 62 + min(shift, 0)
    if not least <= power <= most:
        raise FormatError(f"`reciprocal` of op `{op}` must be in {least}..{most}, not {power}")
    # |c| R <= |c| 2**K / D, and |c| / D is bounded twice, as in the division form.
    by_spread = row.ratio * Fraction(least_root + 1, least_root << attributes["guard"]) ** 2
    by_deviation = Fraction(row.deviation, least_root) ** 2
    products = [math.isqrt(int(min(by_spread, by_deviation) * (g << power) ** 2)) for g in gammas]
    half = 1 << (power - 1 - shift)
    greatest = max(products) + half
    # The body in a file scales by 2**f before it rounds; a device rounds f places lower instead.
    Format.of_range(0, greatest << max(shift, 0), "a code times the reciprocal, scaled")
    words["reciprocal"] = Format.of_range(0, (1 << power) // max(1, math.isqrt(attributes["eps"])), "the reciprocal")
    words["product"] = Format.of_range(0, greatest, "a code times the reciprocal")
    return [(product + half) >> (power - shift) for product in products]


def reference(centred: bool, inputs, attributes):
    """Return the norm of each row, from the definition.

    Parameters
    ----------
    centred : whether the mean is subtracted
    inputs : object arrays of Python ints, x, gamma and perhaps beta
    attributes : complete
    """
    x, gamma, *beta = inputs
    up, down = 2 ** max(attributes["shift"], 0), 2 ** max(-attributes["shift"], 0)

    def normalised(row: list[int]) -> list[int]:
        deviations = centred_row(row) if centred else [len(row) * code for code in row]
        spread = sum(d * d for d in deviations) // len(row)
        root = max(1, math.isqrt(spread * 4 ** attributes["guard"] + attributes["eps"]))
        terms = [d * int(g) * up for d, g in zip(deviations, gamma, strict=True)]
        denominator = root
        if "reciprocal" in attributes:
            denominator = 2 ** attributes["reciprocal"]
            terms = [term * (denominator // root) for term in terms]
        codes = [half_away(term, denominator * down) for term in terms]
        return [code + int(b) for code, b in zip(codes, beta[0], strict=True)] if beta else codes

    return [by_rows(np.asarray(x), normalised)]


def count(node, inputs, outputs):
    """Return the operations of one sample: sums, root, then the division or the product of each code.

    Parameters
    ----------
    node : of one of the norms
    inputs, outputs : its tensors
    """
    x, gamma = inputs[:2]
    attributes, words, length, bits = node.attributes, node.words, int(x.shape[-1]), x.format.bits
    n = row_count(x)
    centred = "centred" in words
    spread = words["spread" if centred else "scaled_squares"].bits
    code_bits = words["centred" if centred else "scaled"].bits
    if centred:
        sums = centring_rows(node, x, length, n)
    else:
        sums = times_rows(attributes, length, bits, words["scaled"].bits, n * length)
    root = words["root"].bits
    return rows(
        node,
        *sums,
        *spread_rows(node, x, length, n),
        ("shift", (spread,), n * (attributes["guard"] > 0)),
        ("addsub", (words["radicand"].bits, max(1, attributes["eps"].bit_length())), n),
        ("sqrt", (words["radicand"].bits,), n),
        ("cmp", (root, 1), n),
        ("select", (root,), n),
        ("mul", (code_bits, gamma.format.bits), n * length, "learned"),
        ("abs", (words["weighted"].bits,), n * length),
        *(_reciprocal_rows if "reciprocal" in attributes else _division_rows)(attributes, words, n, length),
        ("neg", (words["normalised"].bits,), n * length),
        *([("addsub", (words["normalised"].bits, inputs[2].format.bits), n * length)] if len(inputs) > 2 else []),
    )


def _division_rows(attributes, words, n: int, length: int) -> list[tuple[Any, ...]]:
    root, weighted, numerator = (words[name].bits for name in ("root", "weighted", "numerator"))
    return [
        ("shift", (root,), n * (1 + (attributes["shift"] < 0))),
        ("shift", (weighted,), n * length),
        ("addsub", (numerator, root + max(-attributes["shift"], 0)), n * length),
        ("div", (numerator, words["divisor"].bits), n * length),
    ]


def _reciprocal_rows(attributes, words, n: int, length: int) -> list[tuple[Any, ...]]:
    reciprocal, product = words["reciprocal"].bits, words["product"].bits
    return [
        ("div", (attributes["reciprocal"] + 1, words["root"].bits), n),
        ("mul", (words["weighted"].bits, reciprocal), n * length, "activation"),
        ("addsub", (product, attributes["reciprocal"] - attributes["shift"]), n * length),
        ("shift", (product,), n * length),
    ]
