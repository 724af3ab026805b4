"""Products with the cosines of a fixed-point Fourier transform, as multiplications or as shifted copies."""

from __future__ import annotations

from mfsim.kernels.csd_gain import product
from mfsim.kernels.fixed_point import rounded
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, mul


@kernel
def times(code, table, k, digits):
    """Return a code times constant k; `digits` is empty where products are multiplications."""
    places, signs, counts = digits
    return product(code, places[k], signs[k], counts[k]) if counts.size else mul(code, table[k])


@kernel
def turned(real, imaginary, table, k, level, digits, bits):
    """Return a code times the k-th of n points of the unit circle, 0 < k < n/4, both parts rounded.

    `table` holds the cosines for 0 .. n/4, which are sines in reverse. At 45 degrees (`level`) both are one, and taken
    out.
    """
    if level:
        across = times(addsub(real, imaginary, -1), table, k, digits)
        along = times(addsub(real, imaginary, 1), table, k, digits)
    else:
        sine = table.size - 1 - k
        across = addsub(times(real, table, k, digits), times(imaginary, table, sine, digits), -1)
        along = addsub(times(real, table, sine, digits), times(imaginary, table, k, digits), 1)
    return rounded(across, -bits), rounded(along, -bits)
