"""Fast transforms that run on counting numbers, so that their operations are counted and not quoted.

Each function is the algorithm itself. On floats it gives the transform; on `Number` it also tallies every
addition, subtraction, product by a constant, square, root and absolute value that it executes. Factors
+-1 and +-j are free, as they only choose between adding and subtracting.

Sources: Cooley and Tukey, Math. Comp. 19, 1965 (radix-2 Fourier transform, real input by conjugate
symmetry); Lee, "A New Algorithm to Compute the Discrete Cosine Transform", IEEE Trans. ASSP-32, 1984.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mfsim.errors import UnsupportedOpError
from mfsim.op_counter.sized import row
from mfsim.ops.op import Row

Complex = tuple[Any, Any]
"""Real and imaginary part."""


class Number:
    """A float that tallies what is done to it, as primitives of `mfsim.analysis.count`.

    A product needs a constant, whose class is `by`: "fixed" for a float, "learned" for a `Learned`. Two
    numbers cannot be multiplied; `square` is the one product of activations here.
    """

    def __init__(self, value: float, tally: Counter[str]) -> None:
        self.value, self.tally = value, tally

    def _made(self, value: float, primitive: str) -> Number:
        self.tally[primitive] += 1
        return Number(value, self.tally)

    def __add__(self, other: Number) -> Number:
        return self._made(self.value + other.value, "addsub")

    def __sub__(self, other: Number) -> Number:
        return self._made(self.value - other.value, "addsub")

    def __mul__(self, constant: float) -> Number:
        by = "learned" if isinstance(constant, Learned) else "fixed"
        return self._made(self.value * float(constant), f"mul {by}")

    def __abs__(self) -> Number:
        return self._made(abs(self.value), "abs")

    def square(self) -> Number:
        """Return the square, a product of two activations."""
        return self._made(self.value * self.value, "mul activation")

    def sqrt(self) -> Number:
        """Return the square root."""
        return self._made(math.sqrt(self.value), "sqrt")


class Learned(float):
    """A constant that was learned."""


def _check_power(n: int, what: str, least: int = 1) -> None:
    if n < least or n & (n - 1):
        raise UnsupportedOpError(f"{what} is counted for powers of two of at least {least}, not for {n}")


def cosine(x: Sequence[Any]) -> list[Any]:
    """Return sum_i x[i] cos(pi (2 i + 1) k / (2 n)) for each k, n a power of two, by Lee's algorithm.

    The factors that make it orthonormal belong to the layer behind it.

    Parameters
    ----------
    x : sequence of n floats or Numbers
        n is a power of two.

    Returns
    -------
    list of n floats or Numbers

    Raises
    ------
    UnsupportedOpError
        If n is no power of two.
    """
    n = len(x)
    _check_power(n, "Lee's cosine transform")
    if n == 1:
        return list(x)
    half = n // 2
    sums = cosine([x[i] + x[n - 1 - i] for i in range(half)])
    differences = cosine(
        [(x[i] - x[n - 1 - i]) * (0.5 / math.cos((2 * i + 1) * math.pi / (2 * n))) for i in range(half)]
    )
    odd = [differences[k] + differences[k + 1] for k in range(half - 1)] + differences[-1:]
    return [value for pair in zip(sums, odd, strict=True) for value in pair]


def _turned(x: Complex, k: int, n: int, sign: int) -> Complex:
    """Return x exp(sign 2 pi j k / n) for 0 < k < n / 2, k != n / 4."""
    real, imaginary = x
    if 8 * k in (n, 3 * n):  # (+-1 + sign j) / sqrt(2)
        half, first = math.sqrt(0.5), 8 * k == n
        if sign > 0:
            turned = (real - imaginary, real + imaginary) if first else (real + imaginary, real - imaginary)
            return turned[0] * (half if first else -half), turned[1] * half
        turned = (real + imaginary, imaginary - real) if first else (imaginary - real, real + imaginary)
        return turned[0] * half, turned[1] * (half if first else -half)
    c, s = math.cos(2 * math.pi * k / n), sign * math.sin(2 * math.pi * k / n)
    return real * c - imaginary * s, real * s + imaginary * c


def fourier(x: Sequence[Complex], sign: int = -1) -> list[Complex]:
    """Return sum_i x[i] exp(sign 2 pi j i k / n) for each k, n a power of two, radix 2.

    Parameters
    ----------
    x : sequence of n pairs of floats or Numbers
        Real and imaginary parts; n is a power of two.
    sign : {-1, 1}
        Of the exponent.

    Returns
    -------
    list of n pairs of floats or Numbers

    Raises
    ------
    UnsupportedOpError
        If n is no power of two.
    """
    n = len(x)
    _check_power(n, "the Fourier transform")
    if n == 1:
        return list(x)
    even, odd = fourier(x[::2], sign), fourier(x[1::2], sign)
    low, high = [], []
    for k, (a, b) in enumerate(zip(even, odd, strict=True)):
        if 4 * k == n:  # times sign j
            plus, minus = (a[0] - b[1], a[1] + b[0]), (a[0] + b[1], a[1] - b[0])
            plus, minus = (plus, minus) if sign > 0 else (minus, plus)
        else:
            t = _turned(b, k, n, sign) if k else b
            plus, minus = (a[0] + t[0], a[1] + t[1]), (a[0] - t[0], a[1] - t[1])
        low.append(plus)
        high.append(minus)
    return low + high


def real_fourier(x: Sequence[Any]) -> tuple[Any, list[Complex], Any]:
    """Return bins 0, 1 .. n/2 - 1 and n/2 of sum_i x[i] exp(+2 pi j i k / n) for real x, n >= 2 a power of two.

    Bins 0 and n/2 are real. The sign of the exponent conjugates what is usual, so that the bin in the
    middle needs no negation; magnitudes are the same.

    Parameters
    ----------
    x : sequence of n floats or Numbers
        n is a power of two of at least 2.

    Returns
    -------
    tuple of (bin 0, list of n/2 - 1 pairs, bin n/2)

    Raises
    ------
    UnsupportedOpError
        If n is no power of two of at least 2.
    """
    n = len(x)
    _check_power(n, "the Fourier transform of real numbers", 2)
    if n == 2:
        return x[0] + x[1], [], x[0] - x[1]
    (even0, even, even_last), (odd0, odd, odd_last) = real_fourier(x[::2]), real_fourier(x[1::2])
    low, high = [], []
    for k, (a, b) in enumerate(zip(even, odd, strict=True), start=1):
        t = _turned(b, k, n, 1)
        low.append((a[0] + t[0], a[1] + t[1]))
        high.append((a[0] - t[0], t[1] - a[1]))  # the conjugate is bin n/2 - k
    return even0 + odd0, [*low, (even_last, odd_last), *reversed(high)], even0 - odd0


def magnitudes(x: Sequence[Any]) -> list[Any]:
    """Return the absolute values of all n bins of the Fourier transform of real x; mirrored ones are copies.

    Parameters
    ----------
    x : sequence of n floats or Numbers
        n is a power of two.

    Returns
    -------
    list of n floats or Numbers

    Raises
    ------
    UnsupportedOpError
        If n is no power of two.
    """
    if len(x) == 1:
        return [abs(x[0])]
    first, middle, last = real_fourier(x)
    inner = [_root(_square(real) + _square(imaginary)) for real, imaginary in middle]
    return [abs(first), *inner, abs(last), *reversed(inner)]


def _square(x: Any) -> Any:
    return x.square() if isinstance(x, Number) else x * x


def _root(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Number) else math.sqrt(x)


def filtered(image: Sequence[Sequence[Complex]], gains: Sequence[Sequence[float]]) -> list[list[Complex]]:
    """Return two real images of g x g pixels, packed as one complex one, filtered by real `gains` [g][g].

    Rows and columns are transformed, each bin is multiplied by its gain, and both are transformed back. As
    the filter is linear and real (the gains even), it keeps the two images apart. The gains hold 1 / g**2.

    Parameters
    ----------
    image : g rows of g pairs of floats or Numbers
        One image in the real parts, the other in the imaginary ones; g is a power of two.
    gains : g rows of g floats
        Over the frequencies, in FFT order, even.

    Returns
    -------
    list of g rows of g pairs

    Raises
    ------
    UnsupportedOpError
        If g is no power of two.
    """
    spectrum = _both_ways(image, -1)
    scaled = [
        [(real * gain, imaginary * gain) for (real, imaginary), gain in zip(row, of_row, strict=True)]
        for row, of_row in zip(spectrum, gains, strict=True)
    ]
    return _both_ways(scaled, 1)


def _both_ways(image: Sequence[Sequence[Complex]], sign: int) -> list[list[Complex]]:
    rows = [fourier(row, sign) for row in image]
    columns = [fourier(column, sign) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _tally(algorithm: Callable[[Counter[str]], object]) -> Mapping[str, int]:
    tally: Counter[str] = Counter()
    algorithm(tally)
    return tally


@functools.lru_cache(maxsize=64)
def counted(name: str, n: int) -> Mapping[str, int]:
    """Return what one transform of length n executes, {primitive: count}; "mul" has its class behind it.

    Parameters
    ----------
    name : {"cosine", "fourier", "real_fourier", "magnitudes", "filtered"}
        The algorithm; for `filtered` n is the side of the image, and two images are filtered.
    n : int
        Length of the transform, a power of two.

    Returns
    -------
    mapping of str to int

    Examples
    --------
    >>> dict(counted("cosine", 8))
    {'addsub': 29, 'mul fixed': 12}
    """
    if name == "fourier":
        return _tally(lambda tally: fourier([(Number(0.0, tally), Number(0.0, tally)) for _ in range(n)]))
    if name == "filtered":
        return _tally(
            lambda tally: filtered(
                [[(Number(0.0, tally), Number(0.0, tally)) for _ in range(n)] for _ in range(n)],
                [[Learned(1.0)] * n] * n,
            )
        )
    real: dict[str, Callable[[Sequence[Any]], object]] = {
        "cosine": cosine,
        "real_fourier": real_fourier,
        "magnitudes": magnitudes,
    }
    return _tally(lambda tally: real[name]([Number(0.0, tally) for _ in range(n)]))


def transform_rows(name: str, n: int, bits: int, times: int) -> list[Row]:
    """Return the rows of fast transforms.

    Parameters
    ----------
    name : str
        An algorithm, as `counted` takes it.
    n : int
        Length of a transform, a power of two.
    bits : int, at least 1
        Of a word.
    times : int, at least 0
        How many transforms there are.

    Returns
    -------
    list of Row
        One for each primitive.
    """
    rows = []
    for counted_as, count in counted(name, n).items():
        primitive, _, by = counted_as.partition(" ")
        rows.append(row(primitive, bits, count * times, by, 1 if primitive in ("abs", "sqrt") else 2))
    return rows
