"""Estimated Fourier magnitudes: how near they are, exhaustively; against the float function; counts; layers; refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from mfsim.analysis.count import count, strict_multiplication_free
from mfsim.errors import CountError, FormatError, ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.nn import DFTMagnitude
from mfsim.nn.attention import PRESETS
from mfsim.ops.fourier import dft_tables
from mfsim.ops.fourier.kernels import run_dft_alpha_beta
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal
from tests.quant.token_networks import assert_one_network, images, quantized, small_vit

BYTE = Format(8)


def inputs(n, bits, word=BYTE, exponent=-4):
    table = constant("cosines", dft_tables.cosines(n, bits), scale=Scale.of(-bits))
    return activation("x", (n,), word, Scale.of(exponent)), table


def test_an_output_by_hand():
    # F (3, 1, -2, 2) = 4, 5 + j, -2, 5 - j; max(5 + 1/8, 35/8 + 1/2) = 5.125, halved for n = 4: on 2^-4, 41.
    found = compute("dft_alpha_beta", inputs(4, 8, exponent=0), [[[3, 1, -2, 2]]], fraction=4, guard=0)
    assert found == [[32, 41, 16, 41]]
    # n = 8: a spike of 7 has 7 everywhere but for roundings of its turned bins; times 181/256 and 1/2 it is 2.47.
    row = [[[7, 0, 0, 0, 0, 0, 0, 0]]]
    assert compute("dft_alpha_beta", inputs(8, 8, exponent=0), row, fraction=4, guard=3) == [[40] * 8]


def test_estimates_of_all_pairs_of_parts():
    # Every bin (re, im) of up to 10 bits, by the op itself: of n = 4 codes, bin 1 is (x0 - x2) + j (x1 - x3).
    size = 1 << 10
    re, im = np.divmod(np.arange(size * size), size)
    x = np.zeros((size * size, 4), dtype=np.int64)
    x[:, 0], x[:, 1] = re, im
    out = np.empty_like(x)
    run_dft_alpha_beta([x, np.array(dft_tables.cosines(4, 1))], {"guard": 0, "products": "mul", "shift": 0}, [out])
    estimate, square = out[:, 1], re**2 + im**2
    # 8 times an estimate is sqrt(121/2) to sqrt(65) times the magnitude, and both are met: where m = M, and m = M/8.
    assert (2 * estimate**2 >= 121 * square).all()
    assert (estimate**2 <= 65 * square).all()
    assert 2 * estimate[size + 1] ** 2 == 121 * square[size + 1]
    assert estimate[8 * size + 1] ** 2 == 65 * square[8 * size + 1]
    assert dft_tables.STRETCH > 65**0.5 / 8
    # The mean over all angles is that of the magnitude to four places.
    angle = np.linspace(0, np.pi / 4, 100001)
    estimate = np.maximum(np.cos(angle) + np.sin(angle) / 8, 7 / 8 * np.cos(angle) + np.sin(angle) / 2)
    assert abs(estimate.mean() - 1) < 1e-4


@pytest.mark.parametrize("n", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("fraction", [1, 5])
def test_the_error_stays_below_its_bound(n, fraction):
    guard, bits = dft_tables.defaults(n, 128, fraction, -4, dft_tables.estimate_error)
    bound = dft_tables.estimate_error(n, 128, guard, fraction, -4, bits)
    assert bound <= 0.25
    rng, at = np.random.default_rng(n + fraction), np.arange(n)
    waves = np.rint(127 * np.cos(2 * np.pi * rng.uniform(0, n, (300, 1)) * at / n + rng.uniform(0, 7, (300, 1))))
    rows = np.concatenate([rng.integers(-128, 128, (1000, n)), waves.astype(np.int64)])
    shift = dft_tables.estimate_places(n, guard, fraction, -4, bits)
    out, again = np.empty_like(rows), np.empty_like(rows)
    attributes = {"guard": guard, "products": "mul", "shift": shift}
    run_dft_alpha_beta([rows, np.array(dft_tables.cosines(n, bits))], attributes, [out])
    exact = DFTMagnitude(n, "alpha-beta")(torch.tensor(rows * 2.0**-4)).numpy() * 2.0**fraction
    # 1e-9 for the float transform, whose values are below 2^20.
    assert np.abs(out - exact).max() <= 0.5 + bound + 1e-9
    magnitude = np.abs(np.fft.fft(rows * 2.0**-4, norm="ortho")) * 2.0**fraction
    assert (np.abs(out - magnitude) <= 0.5 + bound + 0.0278 * magnitude).all()
    run_dft_alpha_beta([rows, np.array(dft_tables.cosines(n, bits))], attributes | {"products": "shift"}, [again])
    assert np.array_equal(out, again)


@pytest.mark.parametrize("n", [8, 16, 32])
def test_counts(n):
    odd, half = (n.bit_length() - 1) % 2, n // 2 - 1
    options = {"fraction": 4, "guard": 3}
    found, roots = (
        counted("dft_alpha_beta", *inputs(n, 12), **options),
        counted("dft_magnitude", *inputs(n, 12), **options),
    )
    assert found["sqrt"] == 0
    # No squares; for odd q every bin takes sqrt(1/2), and not only the two ends.
    assert found["mul"] == roots["mul"] - 2 * half + odd * half
    assert (found["abs"], found["cmp"], found["select"]) == (n, 2 * half, 3 * half)
    # Three sums and a rounding in place of a sum of squares and a rounding.
    assert found["addsub"] == roots["addsub"] + 2 * half
    digits = counted("dft_alpha_beta", *inputs(n, 12), **options, products="shift")
    assert digits["mul"] == 0


def test_words_hold_what_is_met():
    inference = prove("dft_alpha_beta", *inputs(64, 14), fraction=4, guard=4)
    words = {name: word.bits for name, word in inference.words.items()}
    assert (words["bin"], words["estimate"]) == (19, 21)
    # 64 times 128 / 8 for a constant row, and 1.008 times as much where an estimate exceeds the magnitude.
    assert 1024 < inference.outputs[0].range.high <= 1034
    assert not inference.outputs[0].format.signed


@pytest.mark.parametrize(
    ("pair", "attributes", "refused"),
    [
        (
            (inputs(16, 8)[0], inputs(8, 8)[1]),
            {},
            (FormatError, "the cosines of op `dft_alpha_beta` must be those of 16 codes on their scale"),
        ),
        (inputs(8, 8), {"guard": 31}, (FormatError, "`guard` of op `dft_alpha_beta` must be in 0..30, not 31")),
        (
            inputs(8, 8),
            {"shift": 3},
            (FormatError, "`shift` of op `dft_alpha_beta` must be -17 for its scales, not 3"),
        ),
        (
            inputs(8, 8),
            {"products": "digits"},
            (FormatError, "`products` of op `dft_alpha_beta` must be one of mul, shift, not 'digits'"),
        ),
    ],
)
def test_refusals(pair, attributes, refused):
    assert refusal("dft_alpha_beta", *pair, **{"fraction": 4, "guard": 5} | attributes) == refused


def test_with_signed_digits_it_is_multiplication_free():
    x, table = inputs(32, 12)
    programs = {}
    for products in ("mul", "shift"):
        builder = ProgramBuilder()
        names = [builder.input_tensor(x), builder.constant_tensor(table)]
        attributes = {"fraction": 4, "guard": 3, "products": products}
        programs[products] = builder.finish([builder.node("dft_alpha_beta", names, attributes)])
    strict_multiplication_free(programs["shift"])
    assert count(programs["shift"]).by_primitive()["mul"] == 0
    with pytest.raises(CountError):
        strict_multiplication_free(programs["mul"])


def test_a_network_with_estimates():
    unit = replace(PRESETS["qk-dftk"], heads=2, dft_form="csd")
    program = assert_one_network(quantized(small_vit(attention=unit)), images(24, 9))
    (node,) = (node for node in program.nodes if node.op == "dft_alpha_beta")
    assert node.attributes["products"] == "shift"


def test_wrong_layers():
    with pytest.raises(FormatError) as error:
        DFTMagnitude(8, "alphabeta")
    assert str(error.value) == (
        "`form` of Fourier magnitudes must be one of root, alpha-beta, csd, not 'alphabeta'; did you mean `alpha-beta`?"
    )
    with pytest.raises(ShapeError) as length:
        DFTMagnitude(12, "csd")
    assert str(length.value) == (
        "the length of a fixed-point Fourier transform must be a power of two of at least 4, not 12"
    )
    assert repr(DFTMagnitude(8, "csd")) == "DFTMagnitude(8, form=csd)"
