"""References of the Fourier transforms on whole batches in int64, for cases with thousands of rows.

They follow the definitions as the references in `mfsim/ops/fourier/` do, which compute one row at a time in
Python ints. `Exact` refuses every operation whose result could reach 2**62, so none can wrap.
"""

from __future__ import annotations

import itertools

import numpy as np

LIMIT = 1 << 62


class Exact:
    """An int64 array whose operations stay below 2**62 in magnitude, as their operands prove."""

    def __init__(self, codes) -> None:
        self.codes = np.asarray(codes, dtype=np.int64)
        ends = (int(self.codes.min()), int(self.codes.max())) if self.codes.size else (0, 0)
        self.bound = max(-ends[0], ends[1])
        assert self.bound < LIMIT, f"a code of {self.bound} does not stay below 2**62"

    def _checked(self, bound: int, codes) -> Exact:
        assert bound < LIMIT, f"a result of up to {bound} does not stay below 2**62"
        return Exact(codes())

    def __add__(self, other: Exact) -> Exact:
        return self._checked(self.bound + other.bound, lambda: self.codes + other.codes)

    def __sub__(self, other: Exact) -> Exact:
        return self._checked(self.bound + other.bound, lambda: self.codes - other.codes)

    def __mul__(self, factor: int | Exact) -> Exact:
        other = factor if isinstance(factor, Exact) else Exact(factor)
        return self._checked(self.bound * other.bound, lambda: self.codes * other.codes)

    def __abs__(self) -> Exact:
        return Exact(np.abs(self.codes))

    def __getitem__(self, at) -> Exact:
        return Exact(self.codes[at])

    def moved(self, places: int) -> Exact:
        """Return round(codes 2**places), halves up."""
        if places >= 0:
            return self * (1 << places)
        assert -places < 63
        return self._checked(self.bound + (1 << -places - 1), lambda: self.codes + (1 << -places - 1) >> -places)

    def floored(self, places: int) -> Exact:
        """Return floor(codes 2**places)."""
        return self * (1 << places) if places >= 0 else Exact(self.codes >> -places)

    def root(self) -> Exact:
        """Return the integer part of the root of codes of at least 0."""
        assert not self.codes.size or self.codes.min() >= 0
        roots = np.sqrt(self.codes.astype(np.float64)).astype(np.int64)  # off by one at most: codes are below 2**62
        roots -= roots * roots > self.codes
        roots += (roots + 1) * (roots + 1) <= self.codes
        assert (roots * roots <= self.codes).all()
        assert ((roots + 1) * (roots + 1) > self.codes).all()
        return Exact(roots)


def larger(a: Exact, b: Exact) -> Exact:
    return Exact(np.maximum(a.codes, b.codes))


def smaller(a: Exact, b: Exact) -> Exact:
    return Exact(np.minimum(a.codes, b.codes))


def joined(parts: list[Exact]) -> np.ndarray:
    """Return codes [..., n] of n arrays [...]."""
    return np.stack([part.codes for part in parts], axis=-1)


def _cosine_sums(codes: list[Exact], table: list[int], n: int, plain: bool) -> list[Exact]:
    m, bits = len(codes), table[0].bit_length() - 1
    if m == 1:
        return codes
    multipliers = table[1 + 2 * (n - m) + (0 if plain else m // 2) :]
    pairs = list(zip(codes[: m // 2], codes[: m // 2 - 1 : -1], strict=True))
    even = _cosine_sums([a + b for a, b in pairs], table, n, plain)
    halves = [((a - b) * c).moved(-bits) for (a, b), c in zip(pairs, multipliers, strict=False)]
    odd = _cosine_sums(halves, table, n, False)
    sums = [*(a + b for a, b in itertools.pairwise(odd)), odd[-1]]
    return [value for pair in zip(even, sums, strict=True) for value in pair]


def dct(inputs, attributes) -> np.ndarray:
    x, table = inputs
    table, n = [int(code) for code in table], x.shape[-1]
    codes = Exact(x) * (1 << attributes["guard"])
    sums = _cosine_sums([codes[..., k] for k in range(n)], table, n, True)
    if (n.bit_length() - 1) % 2:
        sums[0] = (sums[0] * table[-1]).moved(1 - table[0].bit_length())
    return joined([value.moved(attributes["shift"]) for value in sums])


def _turned(re: Exact, im: Exact, cosine: int, sine: int, bits: int) -> tuple[Exact, Exact]:
    return (re * cosine - im * sine).moved(-bits), (re * sine + im * cosine).moved(-bits)


def _spectrum(codes: list[Exact], table: list[int], n: int) -> list[tuple[Exact, Exact]]:
    """Return bins 0 .. m/2 of m real codes."""
    m, bits = len(codes), table[0].bit_length() - 1
    zero = codes[0] - codes[0]
    if m == 1:
        return [(codes[0], zero)]
    even, odd = _spectrum(codes[::2], table, n), _spectrum(codes[1::2], table, n)
    found = [(zero, zero)] * (m // 2 + 1)
    found[0], found[m // 2] = (even[0][0] + odd[0][0], zero), (even[0][0] - odd[0][0], zero)
    if m >= 4:
        found[m // 4] = even[m // 4][0], odd[m // 4][0]
    for k in range(1, m // 4):
        a, b = even[k]
        c, d = _turned(*odd[k], table[k * n // m], table[n // 4 - k * n // m], bits)
        found[k], found[m // 2 - k] = (a + c, b + d), (a - c, d - b)
    return found


def _bins(x, table: list[int], guard: int) -> list[tuple[Exact, Exact]]:
    codes = Exact(x) * (1 << guard)
    return _spectrum([codes[..., k] for k in range(x.shape[-1])], table, x.shape[-1])


def _mirrored(bins: list[Exact]) -> np.ndarray:
    return joined(bins + bins[-2:0:-1])


def dft_magnitude(inputs, attributes) -> np.ndarray:
    x, table = inputs
    table, n = [int(code) for code in table], x.shape[-1]
    factor = table[n // 8] if (n.bit_length() - 1) % 2 else 1
    bins = _bins(x, table, attributes["guard"])
    found = [
        (re * re + im * im).floored(attributes["power"]).root().moved(-1)  # (root + 1) >> 1
        for re, im in bins
    ]
    for end in (0, -1):
        found[end] = (abs(bins[end][0]) * factor).moved(attributes["ends"])
    return _mirrored(found)


def dft_alpha_beta(inputs, attributes) -> np.ndarray:
    x, table = inputs
    table, n = [int(code) for code in table], x.shape[-1]
    factor = table[n // 8] if (n.bit_length() - 1) % 2 else 1
    found = []
    for re, im in _bins(x, table, attributes["guard"]):
        most, least = larger(abs(re), abs(im)), smaller(abs(re), abs(im))
        found.append((larger(most * 8 + least, most * 7 + least * 4) * factor).moved(attributes["shift"]))
    return _mirrored(found)


def _transform(codes: list[tuple[Exact, Exact]], table: list[int], n: int) -> list[tuple[Exact, Exact]]:
    """Return the transform of m complex codes."""
    m, bits = len(codes), table[0].bit_length() - 1
    if m == 1:
        return codes
    even, odd = _transform(codes[::2], table, n), _transform(codes[1::2], table, n)
    low, high = [], []
    for k, ((a, b), (c, d)) in enumerate(zip(even, odd, strict=True)):
        quarters, rest = divmod(k, m // 4) if m > 2 else (0, k)
        if rest:
            c, d = _turned(c, d, table[rest * n // m], table[n // 4 - rest * n // m], bits)
        if quarters:
            c, d = d * -1, c
        low.append((a + c, b + d))
        high.append((a - c, b - d))
    return low + high


def _both_axes(image: list[list[tuple[Exact, Exact]]], table: list[int]) -> list[list[tuple[Exact, Exact]]]:
    for _ in range(2):  # rows, then columns; twice transposed
        image = [list(line) for line in zip(*(_transform(line, table, len(image)) for line in image), strict=True)]
    return image


def filterbank(inputs, attributes) -> np.ndarray:
    x, table, gains = inputs
    table, grid, passing = [int(code) for code in table], gains.shape[1], attributes["passing"]
    q, places = grid.bit_length() - 1, attributes["gain_places"]
    out = np.empty(x.shape, dtype=np.int64)
    out[..., :passing, :] = Exact(x[..., :passing, :]).moved(attributes["shift"] + attributes["guard"] + 2 * q).codes
    codes = Exact(x[..., passing:, :]) * (1 << attributes["guard"])
    for first in range(0, x.shape[-1], 2):
        real = codes[..., first]
        imaginary = codes[..., first + 1] if first + 1 < x.shape[-1] else real - real
        flat = [(real[..., k], imaginary[..., k]) for k in range(grid * grid)]
        image = _both_axes([flat[k : k + grid] for k in range(0, grid * grid, grid)], table)
        exchanged = [
            [
                ((im * Exact(gains[:, k, i])).moved(-places), (re * Exact(gains[:, k, i])).moved(-places))
                for i, (re, im) in enumerate(row)
            ]
            for k, row in enumerate(image)
        ]
        filtered = [both for row in _both_axes(exchanged, table) for both in row]
        for part, feature in enumerate(range(first, min(first + 2, x.shape[-1]))):
            moved = [both[1 - part].moved(attributes["shift"]) for both in filtered]
            out[..., passing:, feature] = joined(moved)
    return out


REFERENCES = {"dct": dct, "dft_alpha_beta": dft_alpha_beta, "dft_magnitude": dft_magnitude, "filterbank": filterbank}
