"""Fast transforms: they are the transforms, and what they execute is what closed forms say."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import UnsupportedOpError
from mfsim.nn.filterbank import filters
from mfsim.nn.fourier import dct_matrix
from mfsim.op_counter import fast_transforms as fast

POWERS = [2, 4, 8, 16, 32, 64, 128]
# Sums of up to 64 x 64 terms of about 1 in another order; float64 keeps 15 digits of each.
CLOSE = {"rtol": 0, "atol": 1e-11}


def real(n, seed=0):
    return [float(v) for v in np.random.default_rng(seed).normal(size=n)]


def pairs(n, seed=0):
    return list(zip(real(n, seed), real(n, seed + 1), strict=True))


def values(spectrum):
    return np.array([complex(*z) for z in spectrum])


@pytest.mark.parametrize("n", [1, *POWERS])
def test_the_cosine_transform(n):
    scale = dct_matrix(n)[:, :1] / np.cos(np.pi * np.arange(n) / (2 * n))[:, None]
    np.testing.assert_allclose(np.array(fast.cosine(real(n))) * scale[:, 0], dct_matrix(n) @ real(n), **CLOSE)


@pytest.mark.parametrize("n", [1, *POWERS])
def test_the_fourier_transform_both_ways(n):
    x = pairs(n)
    np.testing.assert_allclose(values(fast.fourier(x)), np.fft.fft(values(x)), **CLOSE)
    np.testing.assert_allclose(values(fast.fourier(x, 1)), np.fft.ifft(values(x)) * n, **CLOSE)


@pytest.mark.parametrize("n", POWERS)
def test_the_fourier_transform_of_real_numbers_is_conjugated(n):
    first, middle, last = fast.real_fourier(real(n))
    expected = np.fft.rfft(real(n)).conj()
    np.testing.assert_allclose(values([(first, 0.0), *middle, (last, 0.0)]), expected, **CLOSE)


@pytest.mark.parametrize("n", [1, *POWERS])
def test_magnitudes(n):
    np.testing.assert_allclose(fast.magnitudes(real(n)), abs(np.fft.fft(real(n))), **CLOSE)


@pytest.mark.parametrize("g", [2, 4, 8])
def test_two_images_are_filtered_as_one(g):
    gains = filters(g)[3]
    even = (gains + np.roll(gains[::-1, ::-1], 1, (0, 1))) / 2
    image = values(pairs(g * g)).reshape(g, g)
    made = fast.filtered(
        [[(z.real, z.imag) for z in row] for row in image], [[float(v) for v in row] for row in even / g**2]
    )
    expected = [np.fft.ifft2(np.fft.fft2(part) * gains).real for part in (image.real, image.imag)]
    np.testing.assert_allclose(np.array([values(row) for row in made]), expected[0] + 1j * expected[1], **CLOSE)


@pytest.mark.parametrize("n", POWERS[2:])
def test_counts_equal_closed_forms(n):
    q = n.bit_length() - 1
    assert fast.counted("cosine", n) == {"mul fixed": n // 2 * q, "addsub": 3 * n * q // 2 - n + 1}
    assert fast.counted("fourier", n) == {"mul fixed": 2 * n * q - 7 * n + 12, "addsub": 3 * n * q - 3 * n + 4}
    real_input = {"mul fixed": n * q - 7 * n // 2 + 6, "addsub": 3 * n * q // 2 - 5 * n // 2 + 4}
    assert fast.counted("real_fourier", n) == real_input
    assert fast.counted("magnitudes", n) == {
        "mul fixed": real_input["mul fixed"],
        "addsub": real_input["addsub"] + n // 2 - 1,
        "mul activation": n - 2,
        "sqrt": n // 2 - 1,
        "abs": 2,
    }


def test_counts_of_a_filtered_pair():
    """Of 8 x 8 pixels: 128 products by constants of the transform, 128 by gains, 1664 additions."""
    assert fast.counted("filtered", 8) == {"mul fixed": 128, "mul learned": 128, "addsub": 1664}


@pytest.mark.parametrize(
    ("name", "n", "expected"),
    [
        ("cosine", 32, {"mul fixed": 80, "addsub": 209}),
        ("fourier", 8, {"mul fixed": 4, "addsub": 52}),
        ("real_fourier", 32, {"mul fixed": 54, "addsub": 164}),
    ],
)
def test_counts_from_outside(name, n, expected):
    assert fast.counted(name, n) == expected


def test_two_activations_are_no_factor():
    tally = fast.Counter()
    with pytest.raises(TypeError):
        fast.Number(1.0, tally) * fast.Number(2.0, tally)


@pytest.mark.parametrize("n", [0, 6, 12])
def test_other_lengths_are_refused(n):
    with pytest.raises(
        UnsupportedOpError, match=f"^Lee's cosine transform is counted for powers of two of at least 1, not for {n}$"
    ):
        fast.cosine([0.0] * n)
