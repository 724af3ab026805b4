"""dft_magnitude: abs(F x) / sqrt(n) of each row of n = 2**q codes, by a fixed-point Fourier transform of radix 2.

    X = B(2**G x):  B(one code) = the code
    E, O = B(even codes), B(odd codes)
    X_0 = E_0 + O_0,  X_(n/2) = E_0 - O_0,  X_(n/4) = E_(n/4) + j O_(n/4)
    X_k = E_k + t,  X_(n/2-k) = conj(E_k - t),  t = (O_k W_k + half) >> T,    0 < k < n/4
    y_k = (isqrt(2**p (re**2 + im**2)) + 1) >> 1,    p = 2 (e - G + F + 1) - q
    y_0, y_(n/2) = round(|X| f 2**h), halves up

x lies on 2**e, y on 2**-F. W_k = exp(2 pi j k / n) has cosines on 2**-T (`mfsim/ops/fourier/dft_tables.py`); the
sign of the exponent conjugates bins, whose magnitudes are the same. Bins above n/2 are copies.
The norm 1 / sqrt(n) costs nothing in bins that go through a root: it is 2**-q under it. The two real bins are
shifted; for odd q they take one fixed multiplication f = sqrt(1/2) each. A root is rounded to the nearest,
exactly: its one bit behind the point decides.

Error against the float function, for every row: 1/2 LSB for the rounding, plus `derived.dft.result_error`,
which `defaults` keeps at 1/4 (bins 0, n/4, n/2 are exact sums, but for f). Word growth: bin k of m
codes is at most m max|x| 2**G plus its error, and re**2 + im**2 at most the square of that.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mfsim.errors import FormatError, RangeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.fourier.definition import length_and_bits
from mfsim.ops.fourier.dft_tables import RADICAND_BITS, bin_error, cosines, end_factor, power_places
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.row_functions import FRACTION, by_rows, check_fraction, row_count
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X


def _size(x, table) -> tuple[int, int]:
    """Return n and T, both inputs checked."""
    return length_and_bits("dft_magnitude", x, "cosines", table, cosines)


def _derive(tensors, attributes):
    """Return p and h."""
    x, table = tensors
    n, bits = _size(x, table)
    grid = (n, attributes["guard"], attributes["fraction"], x.scale.exponent)
    return {"power": power_places(*grid), "ends": end_factor(*grid, bits)[1]}


TRANSFORM_HELD = {
    "load.v": "bin",
    "transform.v": "bin",
    "twiddled.times.addsub": "pair",
    "twiddled>times.return": "product",
    "twiddled.across": "product",
    "twiddled.along": "product",
    "twiddled>rounded.addsub": "product",
}
"""Which word holds which value of a Fourier transform."""


def _infer(tensors, attributes):
    x, table = tensors
    n, bits = _size(x, table)
    guard, fraction = attributes["guard"], attributes["fraction"]
    check_fraction("dft_magnitude", fraction, -31)
    if not 0 <= guard < RADICAND_BITS // 2:
        raise FormatError(f"`guard` of op `dft_magnitude` must be in 0..{RADICAND_BITS // 2 - 1}, not {guard}")
    for name, value in _derive(tensors, attributes).items():
        if attributes[name] != value:
            raise FormatError(f"`{name}` of op `dft_magnitude` must be {value} for its scales, not {attributes[name]}")
    largest = x.range.bound << guard
    half, whole = (m * largest + bin_error(m, largest, bits) for m in (n // 2, n))
    square = math.floor(whole**2)
    radicand = math.floor(whole**2 * Fraction(2) ** attributes["power"])
    if max(radicand, square) >= 1 << RADICAND_BITS:
        raise RangeError(
            f"the radicand of op `dft_magnitude` needs {max(radicand, square).bit_length()} bits, and at most "
            f"{RADICAND_BITS} are possible; use fewer guard bits or a narrower input"
        )
    factor, ends = end_factor(n, guard, fraction, x.scale.exponent, bits)
    end = n * largest * factor + (1 << -ends - 1 if ends < 0 else 0)
    # A cosine of sqrt(1/2) meets re - im; every other one a part of its own. |W| is at most 1 + 2**-T.
    pair, product = math.floor(half * Fraction(3, 2)), math.floor(half * ((1 << bits) + 1))
    words = {
        "bin": Format.of_range(-math.floor(whole), math.floor(whole), "a bin of a Fourier transform"),
        "pair": Format.of_range(-pair, pair, "the sum of both parts of a bin"),
        "product": Format.of_range(-product, product + (1 << bits - 1), "a bin times a cosine"),
        "square": Format.of_range(0, square, "the square of a magnitude"),
        "radicand": Format.of_range(0, radicand, "the radicand"),
        "root": Format.of_range(0, math.isqrt(radicand) + 1, "the root"),
        "end": Format.of_range(0, end << max(ends, 0), "a real bin"),
    }
    greatest = max((math.isqrt(radicand) + 1) // 2, (end << ends) if ends >= 0 else end >> -ends)
    y = result(x.shape, Range.of(0, greatest), Scale.of(-fraction), "the result of dft_magnitude")
    return Inference((y,), words)


def spectrum(codes: list[int], table: list[int], n: int) -> list[tuple[int, int]]:
    """Return bins 0 .. m/2 of m codes as (re, im), `table` being the cosines of n codes.

    Parameters
    ----------
    codes : list of int
        m codes, m a power of two of at most n.
    table : list of int, n/4 + 1 entries
        Cosines of n codes on 2**-T, from 2**T.
    n : int
        Length of the whole transform.

    Returns
    -------
    list of (int, int)
        m/2 + 1 bins, or 1 for m = 1; each turned part rounded, halves up.
    """
    m = len(codes)
    if m == 1:
        return [(codes[0], 0)]
    even, odd = spectrum(codes[::2], table, n), spectrum(codes[1::2], table, n)
    found = dict(enumerate(even))
    found[0], found[m // 2] = (even[0][0] + odd[0][0], 0), (even[0][0] - odd[0][0], 0)
    if m >= 4:
        found[m // 4] = (even[m // 4][0], odd[m // 4][0])
    for k in range(1, m // 4):
        cosine, sine = table[k * n // m], table[n // 4 - k * n // m]
        (re, im), (a, b) = odd[k], even[k]
        parts = (re * cosine - im * sine, re * sine + im * cosine)
        c, d = (math.floor(Fraction(part, table[0]) + Fraction(1, 2)) for part in parts)
        found[k], found[m // 2 - k] = (a + c, b + d), (a - c, d - b)
    return [found[k] for k in range(m // 2 + 1)]


def _reference(inputs, attributes):
    """Return the magnitudes of all bins, from the definition."""
    x, table = inputs
    table = [int(code) for code in table]

    def magnitudes(row: list[int]) -> list[int]:
        n = len(row)
        bins = spectrum([code * 2 ** attributes["guard"] for code in row], table, n)
        found = [
            (math.isqrt(math.floor((re * re + im * im) * Fraction(2) ** attributes["power"])) + 1) // 2
            for re, im in bins
        ]
        factor = Fraction(2) ** attributes["ends"] * (table[n // 8] if n.bit_length() % 2 == 0 else 1)
        for end in (0, -1):
            found[end] = math.floor(abs(bins[end][0]) * factor + Fraction(1, 2))
        return found + found[-2:0:-1]

    return [by_rows(np.asarray(x), magnitudes)]


def _count(node, inputs, outputs):
    """Return the operations of one sample: transform, squares, roots; mirrored bins are copies."""
    x, table = inputs
    words, attributes, n, times = node.words, node.attributes, int(x.shape[-1]), row_count(x)
    q, half = n.bit_length() - 1, n // 2 - 1
    # In a stage of blocks of m, the bins 0 < k < m/4 of each block are turned, one of them (8 k = m) by 45 degrees.
    turned, level = (q - 1) * n // 4 - half, n // 4 - 1
    bits, one, product, root = words["bin"].bits, table.format.bits, words["product"].bits, words["root"].bits
    odd, ends = q % 2, attributes["ends"]
    return rows(
        node,
        ("shift", (x.format.bits,), times * n * (attributes["guard"] > 0)),
        ("addsub", (bits, bits), times * (2 * (n - 1) + 4 * turned)),
        ("addsub", (words["pair"].bits, words["pair"].bits), times * 2 * level),
        ("addsub", (product, product), times * 2 * (turned - level)),
        ("mul", (words["pair"].bits, one), times * 2 * level, "fixed"),
        ("mul", (bits, one), times * 4 * (turned - level), "fixed"),
        ("addsub", (product, -table.scale.exponents[0]), times * 2 * turned),
        ("shift", (product,), times * 2 * turned),
        ("mul", (bits, bits), times * 2 * half, "activation"),
        ("addsub", (words["square"].bits, words["square"].bits), times * half),
        ("shift", (words["square"].bits,), times * half * (attributes["power"] != 0)),
        ("sqrt", (words["radicand"].bits,), times * half),
        ("addsub", (root, 1), times * half),
        ("shift", (root,), times * half),
        ("abs", (bits,), times * 2),
        ("mul", (bits, one), times * 2 * odd, "fixed"),
        ("addsub", (words["end"].bits, max(1, -ends)), times * 2 * (ends < 0)),
        ("shift", (words["end"].bits,), times * 2 * (ends != 0)),
    )


def telling(n: int, word: Format) -> tuple[tuple[np.ndarray], ...]:
    """Return rows whose energy lies in one bin, one code, or at both ends of the word.

    Parameters
    ----------
    n : int
        Length, a power of two of at least 4.
    word : Format
        Word of the codes.

    Returns
    -------
    tuple of samples
        Each a tuple of one int64 array of shape (n,).
    """
    at, size = np.arange(n), min(-word.lo or word.hi, word.hi)
    waves = [np.rint(size * np.cos(2 * np.pi * k * at / n + phase)) for k in range(n // 2 + 1) for phase in (0, 1)]
    spikes = [np.where(at == k, word.hi, 0) for k in (0, 1, n - 1)]
    made = [*waves, *spikes, np.where(at % 2, word.lo, word.hi), np.where(at < n // 2, word.lo, word.hi)]
    return tuple((np.maximum(row, word.lo).astype(np.int64),) for row in made)


OP = Op(
    name="dft_magnitude",
    summary="magnitudes of the Fourier transform of the last axis, by a fixed-point transform of radix 2",
    attributes=(
        FRACTION,
        Attribute("guard", "int", "G: bits that the transform has behind the codes"),
        Attribute("power", "int", "p: places between a sum of squares and the radicand", derived=True),
        Attribute("ends", "int", "h: places between a real bin and its result", derived=True),
    ),
    inputs=("x", "cosines"),
    roles={"cosines": Role.FACTOR},
    signature=Signature(
        "DFTMagnitude",
        (
            X,
            X_SCALE,
            Input("places", Role.CONSTANT),
            Input("weights", Role.FACTOR),
            Input("bins", Role.CONSTANT),
            Input("factors", Role.FACTOR),
            Y_SCALE,
        ),
    ),
    primitives=frozenset({"addsub", "shift", "mul", "abs", "sqrt"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    integer_body=True,
    held=TRANSFORM_HELD
    | {
        "plain.addsub.mul": "square",
        "plain.square": "square",
        "plain.scaled": "radicand",
        "plain.root": "root",
        "plain.rounded.mul": "end",
    },
)
