"""Conformance cases of the fixed-point Fourier and cosine transforms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.fourier.dct_tables import defaults as dct_defaults
from mfsim.ops.fourier.dct_tables import multipliers
from mfsim.ops.fourier.dft_magnitude import telling
from mfsim.ops.fourier.dft_tables import cosines, estimate_error
from mfsim.ops.fourier.dft_tables import defaults as dft_defaults
from mfsim.ops.fourier.filterbank import even
from mfsim.ops.fourier.filterbank_tables import defaults as filterbank_defaults
from mfsim.ops.op import Case, activation, constant

# dct: the orthonormal cosine transform of each row of n = 2**q codes, by Lee's fast algorithm in fixed point.
#
#     S(one code) = the code
#     S(v) of m codes:  E = S(v_i + v_(m-1-i)),  D = S(((v_i - v_(m-1-i)) c_i + half) >> T)
#                       S_(2k) = E_k,  S_(2k+1) = D_k + D_(k+1),  the last one D_(m/2-1)
#     y_k = round(S_k(2**G x) 2**h), halves up,    h = e - G + F - floor(q/2)
#
# x lies on 2**e, y on 2**-F; c_i = 1 / (2 cos((2i+1) pi / (2m))) on 2**-T. For even q the c_i that differences of plain
# sums meet hold sqrt(2); for odd q, S_0 is multiplied by sqrt(1/2): with that the result is orthonormal. A multiplier
# whose code is 1 is free. `products` says how the others are computed: mul, or shift (a shift for each signed digit
# above place 0, and additions); the codes are the same.
#
# Error against the float function, for every row: 1/2 LSB for the rounding plus `derived.dct.result_error`, which
# `defaults` keeps at 1/4. Without roundings: n q / 2 multiplications and 3 n q / 2 - n + 1 additions.
# Source: Lee, "A New Algorithm to Compute the Discrete Cosine Transform", IEEE Trans. ASSP-32, 1984.


def _telling_dct(n: int, word: Format) -> tuple[tuple[np.ndarray], ...]:
    """Return rows that look like one row of the transform, and rows of one code."""
    k, i = np.mgrid[:n, :n]
    waves = np.where(np.cos(np.pi * (2 * i + 1) * k / (2 * n)) >= 0, word.hi, word.lo)
    made = [*waves, *np.where(k == i, word.hi, 0), *np.where(k == i, word.lo, 0)]
    return tuple((row.astype(np.int64),) for row in made)


def cases_dct():
    def case(name, x, fraction, guard=None, bits=None, **options):
        n, products = x.shape[-1], options.pop("products", "mul")
        found = dct_defaults(n, x.range.bound, fraction, x.scale.exponent)
        guard, bits = found[0] if guard is None else guard, bits or found[1]
        table = constant("multipliers", multipliers(n, bits), scale=Scale.of(-bits))
        return Case(name, (x, table), {"fraction": fraction, "guard": guard, "products": products}, **options)

    yield case("exhaustive-2", activation("x", (2,), Format(6), Scale.of(-3)), 3, exhaustive=True)
    yield case("exhaustive-4", activation("x", (4,), Format(4), Scale.of(-2)), 3, 0, exhaustive=True)
    yield case("exhaustive-4-coarse", activation("x", (4,), Format(4)), -1, 0, 1, exhaustive=True)
    yield case("exhaustive-8-shift", activation("x", (8,), Format(2)), 2, 0, 3, products="shift", exhaustive=True)
    word = Format(8)
    for n, fraction in ((8, 4), (16, 3), (32, 5)):
        yield case(f"of-{n}", activation("x", (n,), word, Scale.of(-4)), fraction, extra=_telling_dct(n, word))
    for n in (4, 8, 64):
        yield case(
            f"shift-{n}", activation("x", (n,), word, Scale.of(-4)), 4, products="shift", extra=_telling_dct(n, word)
        )
    yield case("tokens", activation("x", (2, 3, 16), word, Scale.of(-5)), 6)
    yield case("unsigned", activation("x", (32,), Format(6, False), Scale.of(-3)), 8)
    yield case("fine-result", activation("x", (4,), Format(4)), 12)
    yield case("past-2**24", activation("x", (16,), Format(20), Scale.of(-10)), 10, 4, 12)
    yield case("past-2**53", activation("x", (8,), Format(20), Scale.of(-10)), 10, 6, 30)


# dft_magnitude: abs(F x) / sqrt(n) of each row of n = 2**q codes, by a fixed-point Fourier transform of radix 2.
#
#     X = B(2**G x):  B(one code) = the code
#     E, O = B(even codes), B(odd codes)
#     X_0 = E_0 + O_0,  X_(n/2) = E_0 - O_0,  X_(n/4) = E_(n/4) + j O_(n/4)
#     X_k = E_k + t,  X_(n/2-k) = conj(E_k - t),  t = (O_k W_k + half) >> T,    0 < k < n/4
#     y_k = (isqrt(2**p (re**2 + im**2)) + 1) >> 1,    p = 2 (e - G + F + 1) - q
#     y_0, y_(n/2) = round(|X| f 2**h), halves up
#
# x lies on 2**e, y on 2**-F. W_k = exp(2 pi j k / n) has cosines on 2**-T (`mfsim/ops/fourier/dft_tables.py`); the
# sign of the exponent conjugates bins, whose magnitudes are the same. Bins above n/2 are copies.
# The norm 1 / sqrt(n) costs nothing in bins that go through a root: it is 2**-q under it. The two real bins are
# shifted; for odd q they take one fixed multiplication f = sqrt(1/2) each. A root is rounded to the nearest,
# exactly: its one bit behind the point decides.
#
# Error against the float function, for every row: 1/2 LSB for the rounding, plus `derived.dft.result_error`,
# which `defaults` keeps at 1/4 (bins 0, n/4, n/2 are exact sums, but for f). Word growth: bin k of m
# codes is at most m max|x| 2**G plus its error, and re**2 + im**2 at most the square of that.


def cases_dft_magnitude():
    def case(name, x, fraction, guard=None, twiddle_bits=None, **options):
        n = x.shape[-1]
        found = dft_defaults(n, x.range.bound, fraction, x.scale.exponent)
        guard, bits = found[0] if guard is None else guard, twiddle_bits or found[1]
        table = constant("cosines", cosines(n, bits), scale=Scale.of(-bits))
        return Case(name, (x, table), {"fraction": fraction, "guard": guard}, **options)

    small = activation("x", (4,), Format(4), Scale.of(-2))
    yield case("exhaustive-4", small, 3, guard=0, exhaustive=True)
    yield case("exhaustive-4-coarse-result", small, 0, guard=1, exhaustive=True)
    yield case("exhaustive-8", activation("x", (8,), Format(2), Scale.of(-1)), 4, exhaustive=True)
    yield case("exhaustive-8-coarse", activation("x", (8,), Format(2), Scale.of(1)), -2, 0, 1, exhaustive=True)
    word = Format(8)
    for n, fraction in ((8, 4), (16, 3), (32, 5), (64, 4), (128, 1)):
        yield case(f"of-{n}", activation("x", (n,), word, Scale.of(-4)), fraction, extra=telling(n, word))
    yield case("tokens", activation("x", (2, 3, 16), word, Scale.of(-5)), 6)
    unsigned = Format(6, False)
    yield case("unsigned", activation("x", (32,), unsigned, Scale.of(-3)), 8, extra=telling(32, unsigned))
    yield case("no-guard", activation("x", (32,), word, Scale.of(-4)), 4, 0, 6, extra=telling(32, word))
    yield case("past-2**24", activation("x", (16,), Format(20), Scale.of(-10)), 10)
    yield case("past-2**53", activation("x", (32,), Format(24), Scale.of(-10)), 9, 0, 30)


# dft_alpha_beta: estimates of abs(F x) / sqrt(n) of each row of n = 2**q codes, without squares and roots.
#
#     X = B(2**G x), the fixed-point Fourier transform of `mfsim/ops/fourier/dft_magnitude.py`
#     M_k, m_k = the greater and the smaller of |re X_k| and |im X_k|
#     s_k = max(8 M_k + m_k, 7 M_k + 4 m_k)
#     y_k = round(s_k f 2**h), halves up,    h = e - G + F - floor(q/2) - 3, and T less for odd q
#
# x lies on 2**e, y on 2**-F; f = 1 for even q, and for odd q sqrt(1/2) on 2**-T. Bins above n/2 are copies; in the two real
# bins m = 0 and s = 8 |X|. `products` says how products with cosines (and f) are computed: mul, or shift (a shift for each
# signed digit above place 0, and additions); the codes are the same. With shift nothing is multiplied.
#
# s/8 lies between 11/sqrt(128) = 0.972 and sqrt(65)/8 = 1.008 times the magnitude (the first where m = M, the second where
# m = M/8 or 4M/7). So an estimate of exact bins, which is the float function of the layer, differs from abs(F x) / sqrt(n) by
# at most 2.8 % of it; and a result differs from it, for every row, by at most 1/2 LSB for the rounding plus
# `derived.dft.estimate_error`, which `defaults` keeps at 1/4: estimates of two bins differ by at most 1.008 times the
# distance of the bins.
# Source: "An Improved Digital Algorithm for Fast Amplitude Approximations of Quadrature Pairs", DSN Progress Report 42-40,
# Jet Propulsion Laboratory, 1977, pp. 97-101.


def cases_dft_alpha_beta():
    def case(name, x, fraction, guard=None, twiddle_bits=None, products="mul", **options):
        n = x.shape[-1]
        found = dft_defaults(n, x.range.bound, fraction, x.scale.exponent, estimate_error)
        guard, bits = found[0] if guard is None else guard, twiddle_bits or found[1]
        table = constant("cosines", cosines(n, bits), scale=Scale.of(-bits))
        return Case(name, (x, table), {"fraction": fraction, "guard": guard, "products": products}, **options)

    yield case("exhaustive-4", activation("x", (4,), Format(3), Scale.of(-2)), 3, guard=0, exhaustive=True)
    yield case("exhaustive-8", activation("x", (8,), Format(1, False), Scale.of(-1)), 4, exhaustive=True)
    yield case("exhaustive-4-coarse", activation("x", (4,), Format(3)), -2, 1, exhaustive=True, products="shift")
    word = Format(8)
    for n, fraction, products in ((8, 4, "mul"), (16, 3, "shift"), (32, 5, "shift"), (64, 4, "mul"), (128, 1, "mul")):
        x = activation("x", (n,), word, Scale.of(-4))
        yield case(f"of-{n}", x, fraction, products=products, extra=telling(n, word))
    yield case("tokens", activation("x", (2, 3, 16), word, Scale.of(-5)), 6)
    unsigned = Format(6, False)
    yield case("unsigned", activation("x", (32,), unsigned, Scale.of(-3)), 8, extra=telling(32, unsigned))
    yield case("fine-result", activation("x", (4,), Format(4)), 12)
    yield case("past-2**24", activation("x", (16,), Format(20), Scale.of(-10)), 10)
    yield case("past-2**53", activation("x", (32,), Format(24), Scale.of(-10)), 9, 0, 28)


# filterbank: filter each head's g x g patches in the frequency domain, by fixed-point Fourier transforms of radix 2.
#
#     z = 2**G (x_2i + j x_(2i+1))         two features of a head, g x g patches
#     Y = round(F(z) c)                    c: the head's gains on 2**-B, the same at k and -k; both parts rounded
#     y_2i + j y_(2i+1) = round(i(F(i(Y))) 2**h)        h = e - G + F - 2 log2 g
#
# x [heads, tokens, features] lies on 2**e, y on 2**-F; i exchanges real and imaginary parts. F transforms rows, then columns:
#
#     F(one code) = the code
#     E, O = F(even codes), F(odd codes),  t_k = O_k W_k,  W_k = exp(2 pi j k / m)
#     X_k = E_k + t_k,  X_(k+m/2) = E_k - t_k,    k < m/2
#
# For 0 < k < m/4 both parts of t_k are (.. + half) >> T, of cosines on 2**-T; t_0 = O_0, and t_(k+m/4) is j O_(k+m/4) W_k.
# Roundings go halves up. The first `passing` tokens are moved to the grid of the result only. A last feature without
# another goes with zeros. As a filter with even gains is real and linear, it keeps the two features apart but for
# roundings. `products` says how products are computed: mul, or shift (a shift for each signed digit above place 0, and
# additions; a gain of 0 costs nothing); the codes are the same.
#
# Error against the float filter with the same gains, for every image: 1/2 LSB for the rounding, plus
# `derived.filterbank.result_error`, which `defaults` keeps at 1/4. Rounded gains add at most
# `derived.filterbank.gain_error`, g max|x| 2**(e + F - B - 1) LSB. Both are proved in `mfsim/ops/fourier/filterbank_tables.py`.
# Without roundings: 2 g**2 products with gains and 4 g (2 g q - 7 g + 12) with cosines, 4 g (3 g q - 3 g + 4) additions for
# two features, q = log2 g.
# Source: Cooley and Tukey, Math. Comp. 19, 1965 (radix 2); the two features as one complex image are ours.

BYTE = Format(8)


def _telling_filterbank(
    heads: int, grid: int, passing: int, features: int, word: Format
) -> tuple[tuple[np.ndarray], ...]:
    """Return images whose energy lies in one bin, in one patch, or at both ends of the word."""
    k, i = np.mgrid[:grid, :grid]
    planes = [np.full((grid, grid), word.lo), np.where((k + i) % 2, word.lo, word.hi), np.where(k + i == 0, word.hi, 0)]
    for u, v in ((0, 1), (1, 1), (2, 3), (grid // 2, 1)):
        wave = np.cos(2 * np.pi * (u * k + v * i) / grid + 0.3)
        planes += [np.where(wave >= 0, word.hi, word.lo), np.rint(wave * word.hi)]
    made = []
    for plane in planes:
        x = np.zeros((heads, passing + grid * grid, features), dtype=np.int64)
        x[:, :passing], x[:, passing:] = word.hi, np.maximum(plane, word.lo).reshape(-1, 1)
        x[:, :, 1::2] = x[:, ::-1, 1::2]  # the other feature of a pair is another image
        made.append((x,))
    return tuple(made)


def cases_filterbank():
    rng = np.random.default_rng(0)

    def case(
        name, heads, grid, features, fraction, passing=1, word=BYTE, exponent=-4, guard=None, bits=None, **options
    ):
        lo, hi, places = options.pop("gains", (0, 100, 9))
        products, few = options.pop("products", "mul"), options.pop("few", None)
        x = activation("x", (heads, passing + grid * grid, features), word, Scale.of(exponent))
        if few:  # all other tokens are 0
            lows = tuple(word.lo if token in few else 0 for token in range(x.shape[2]))
            x = replace(x, range=Range(lows, tuple(word.hi if low else 0 for low in lows), 2))
        else:
            options["extra"] = _telling_filterbank(heads, grid, passing, features, word)
        gains = constant("gains", even(rng, (heads, grid, grid), lo, hi), scale=Scale.of(-places))
        found = filterbank_defaults(grid, x.range.bound, hi * 2.0**-places, gains.format.bits, fraction, exponent)
        guard, bits = found[0] if guard is None else guard, bits or found[1]
        table = constant("cosines", cosines(grid, bits), scale=Scale.of(-bits))
        attributes = {"fraction": fraction, "guard": guard, "passing": passing, "products": products}
        return Case(name, (x, table, gains), attributes, **options)

    few = Format(3)
    yield case("exhaustive-4", 1, 4, 1, 3, 1, few, -2, 0, few=(0, 6), exhaustive=True)
    yield case("exhaustive-8", 1, 8, 1, 3, 0, few, -2, 1, 6, few=(3, 57), exhaustive=True)
    yield case("exhaustive-8-coarse", 1, 8, 2, -1, 0, Format(2), 1, 0, 3, few=(9, 42), exhaustive=True)
    yield case("of-4", 2, 4, 3, 4)
    yield case("of-8", 1, 8, 2, 4)
    yield case("of-16", 1, 16, 1, 3, 0)
    yield case("shift", 2, 8, 2, 5, products="shift", gains=(-20, 100, 7))
    yield case("shift-16", 1, 16, 2, 4, 0, products="shift")
    yield case("unsigned", 1, 8, 2, 6, 2, Format(6, False), -3)
    yield case("gains-of-1", 1, 8, 2, 4, guard=2, bits=9, gains=(-1, 1, 0))
    yield case("past-2**24", 1, 8, 2, 10, 1, Format(20), -10, 4, 12)
    yield case("past-2**53", 1, 4, 2, 10, 1, Format(24), -10, 8, 16, gains=(0, 2**20, 20))
