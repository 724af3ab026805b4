"""Fourier magnitudes of codes: by hand, against the float transform, counts of the literature, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.formats import Format, Scale
from mfsim.op_counter.fast_transforms import counted as float_counts
from mfsim.ops.fourier import dft_tables
from mfsim.ops.fourier.kernels import run_dft_magnitude
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal

BYTE = Format(8)


def inputs(n, bits, word=BYTE, exponent=-4):
    return activation("x", (n,), word, Scale.of(exponent)), constant(
        "cosines", dft_tables.cosines(n, bits), scale=Scale.of(-bits)
    )


def test_an_output_by_hand():
    # F (3, 1, -2, 2) = 4, 5 + j, -2, 5 - j; halved, on 2^-1 where x lies on 1: |X| itself, sqrt(26) rounded.
    pair = inputs(4, 8, exponent=0)
    assert compute("dft_magnitude", pair, [[[3, 1, -2, 2]]], fraction=1, guard=0) == [[4, 5, 2, 5]]
    # n = 8: the ends times sqrt(1/2) on 2^-8 (181): 7 181 / 2^9 = 2.47, and a root of a half, 49 / 8 (2.475).
    row = [[[7, 0, 0, 0, 0, 0, 0, 0]]]
    assert compute("dft_magnitude", inputs(8, 8, exponent=0), row, fraction=0, guard=0) == [[2] * 8]
    assert compute("dft_magnitude", inputs(8, 8, exponent=0), row, fraction=4, guard=3) == [[40] * 8]


@pytest.mark.parametrize("n", [4, 8, 16, 32, 64, 128])
@pytest.mark.parametrize("fraction", [1, 4, 7])
def test_the_error_stays_below_its_bound(n, fraction):
    largest = 128
    guard, bits = dft_tables.defaults(n, largest, fraction, -4)
    bound = dft_tables.result_error(n, largest, guard, fraction, -4, bits)
    assert bound <= 0.25
    rng, at = np.random.default_rng(n + fraction), np.arange(n)
    rows = np.concatenate(
        [
            rng.integers(-128, 128, (1500, n)),
            np.rint(127 * np.cos(2 * np.pi * rng.uniform(0, n, (500, 1)) * at / n + rng.uniform(0, 7, (500, 1)))),
            np.where(rng.random((500, n)) < 0.5, -128, 127),
        ]
    ).astype(np.int64)
    pair = inputs(n, bits)
    derived = {
        "power": dft_tables.power_places(n, guard, fraction, -4),
        "ends": dft_tables.end_factor(n, guard, fraction, -4, bits)[1],
    }
    out = np.empty_like(rows)
    run_dft_magnitude([rows, pair[1].codes], {"guard": guard, **derived}, [out])
    exact = np.abs(np.fft.fft(rows * 2.0**-4, norm="ortho")) * 2.0**fraction
    # 1e-9 for the float transform, whose values are below 2^20.
    assert np.abs(out - exact).max() <= 0.5 + bound + 1e-9


def test_too_few_bits_have_a_bound_that_says_so():
    n, guard, bits = 32, 0, 4
    rng = np.random.default_rng(0)
    rows = rng.integers(-128, 128, (2000, n))
    out = np.empty_like(rows)
    grid = (n, guard, 4, -4)
    attributes = {"guard": 0, "power": dft_tables.power_places(*grid), "ends": dft_tables.end_factor(*grid, bits)[1]}
    run_dft_magnitude([rows, np.array(dft_tables.cosines(n, bits))], attributes, [out])
    error = np.abs(out - np.abs(np.fft.fft(rows, norm="ortho"))).max()
    assert 3 < error < 0.5 + dft_tables.result_error(n, 128, guard, 4, -4, bits)


@pytest.mark.parametrize("n", [4, 8, 16, 32, 64])
def test_counts_are_those_of_the_float_transform_and_of_its_roundings(n):
    q, pair = n.bit_length() - 1, inputs(n, 12)
    found = counted("dft_magnitude", *pair, fraction=4, guard=3)
    floats = float_counts("magnitudes", n)
    turned = (q - 1) * n // 4 - n // 2 + 1
    ends = 2 * (q % 2)
    assert 2 * found["mul"] == 2 * n * q - 7 * n + 12 + 2 * (n - 2) + 2 * ends, "nq - 3.5n + 6, n - 2 squares, the ends"
    assert found["mul"] == floats["mul fixed"] + floats["mul activation"] + ends
    assert found["sqrt"] == floats["sqrt"] == n // 2 - 1
    assert found["abs"] == floats["abs"] == 2
    # A rounding takes one addition: both parts of a turned bin, each root, each end.
    assert found["addsub"] == floats["addsub"] + 2 * turned + n // 2 - 1 + 2


def test_stages_are_the_transform():
    # On exact cosines (T large, no rounding to speak of) the stages give the float transform of real numbers.
    n, bits = 32, 30
    x = np.random.default_rng(3).integers(-99, 99, n).astype(np.float64)
    v = x
    for (a, b, c), (keep, turn, u, w) in zip(*map(np.array, dft_tables.stages(n, bits)), strict=True):
        v = v[a] * keep + (v[b] * u + v[c] * w) / 2.0**bits * turn
    real, imaginary, ends = np.array(dft_tables.bins(n))
    expected = np.fft.fft(x)
    # 1e-6: cosines are off by 2^-31, and sums reach 3000.
    assert np.abs(v[real] - expected.real).max() < 1e-5
    assert np.abs(v[imaginary] * (1 - ends)).max() > 1
    assert np.abs(np.abs(v[imaginary] * (1 - ends)) - np.abs(expected.imag)).max() < 1e-5


def test_words_hold_what_is_met():
    pair = inputs(64, 15)
    inference = prove("dft_magnitude", *pair, fraction=4, guard=4)
    words = {name: word.bits for name, word in inference.words.items()}
    # 8 bits, 4 behind the point, 6 for the sum of 64, and the roundings: -2^17 - 30.
    assert (words["bin"], words["square"], words["radicand"]) == (19, 35, 23)
    assert inference.outputs[0].range.high == 1024  # 64 times 128 / 8
    assert not inference.outputs[0].format.signed


@pytest.mark.parametrize(
    ("pair", "attributes", "refused"),
    [
        (
            (activation("x", (12,), BYTE), inputs(8, 8)[1]),
            {},
            (ShapeError, "the length of a fixed-point Fourier transform must be a power of two of at least 4, not 12"),
        ),
        (
            (inputs(16, 8)[0], inputs(8, 8)[1]),
            {},
            (FormatError, "the cosines of op `dft_magnitude` must be those of 16 codes on their scale"),
        ),
        (
            (inputs(8, 8)[0], constant("c", [256, 180, 0], scale=Scale.of(-8))),
            {},
            (FormatError, "the cosines of op `dft_magnitude` must be those of 8 codes on their scale"),
        ),
        (inputs(8, 8), {"guard": 31}, (FormatError, "`guard` of op `dft_magnitude` must be in 0..30, not 31")),
        (inputs(8, 8), {"fraction": 40}, (FormatError, "`fraction` of op `dft_magnitude` must be in -31..31, not 40")),
        (
            inputs(8, 8),
            {"power": 3},
            (FormatError, "`power` of op `dft_magnitude` must be -11 for its scales, not 3"),
        ),
        (
            inputs(8, 8, Format(24)),
            {"guard": 8},
            (
                RangeError,
                "the radicand of op `dft_magnitude` needs 69 bits, and at most 62 are possible; "
                "use fewer guard bits or a narrower input",
            ),
        ),
    ],
)
def test_refusals(pair, attributes, refused):
    assert refusal("dft_magnitude", *pair, **{"fraction": 4, "guard": 5} | attributes) == refused


def test_wrong_bits_of_cosines():
    with pytest.raises(FormatError) as error:
        dft_tables.cosines(8, 31)
    assert str(error.value) == "`twiddle_bits` must be in 1..30, not 31"
