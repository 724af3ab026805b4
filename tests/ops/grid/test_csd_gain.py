"""Constants as canonical signed digits: digits, nearest sums, words, counts, layer and file."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.analysis import strict_multiplication_free
from mfsim.compiler import compile_model
from mfsim.errors import FormatError, ModelError, ShapeError
from mfsim.export.exporter import quantized_model
from mfsim.ir.formats import Format, Scale
from mfsim.kernels.shift_add import digits_of
from mfsim.nn import CsdGain, MFLinear
from mfsim.ops.grid.csd_gain import nearest_digits
from mfsim.ops.op import activation, constant
from mfsim.ops.signed_digits import signed_digits
from mfsim.quant import Recipe, quantize
from mfsim.simulate import quantize_input, simulate
from tests.bits import assert_bit_equal
from tests.ops.proving import compute, counted, prove, refusal

BYTE = Format(8)


def test_digits_are_canonical_and_fewest():
    # Every sum of at most two signed powers of two below 2^8, by hand; the least number of terms for each code.
    powers = [s << p for p in range(9) for s in (1, -1)]
    fewest = {0: 0} | {a + b: 2 for a, b in itertools.product(powers, repeat=2)} | dict.fromkeys(powers, 1)
    fewest[0] = 0
    for code in range(-256, 257):
        digits = signed_digits(code)
        assert sum(sign << place for place, sign in digits) == code
        places = [place for place, _ in digits]
        assert all(b - a > 1 for a, b in itertools.pairwise(places)), f"{code} has neighbouring digits"
        assert (len(digits) <= 2) == (code in fewest)
        assert len(digits) == fewest.get(code, len(digits))


def test_the_kernel_finds_the_same_digits():
    codes = np.array([*range(-300, 300), 2**40 - 1, -(2**61) + 3])
    places, signs, counts = digits_of(codes)
    for k, code in enumerate(codes.tolist()):
        found = sorted(zip(places[k, : counts[k]].tolist(), signs[k, : counts[k]].tolist(), strict=True))
        assert found == signed_digits(code)


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_the_error_is_at_most_a_third_for_each_digit(digits):
    for value in [*np.linspace(-2, 2, 161), 1 / 3, 3e-7, 1e5, np.pi]:
        found = nearest_digits(float(value), digits)
        assert abs(found - Fraction(float(value))) <= Fraction(1, 3**digits) * abs(Fraction(float(value)))
        scaled = found * found.denominator
        assert len(signed_digits(int(scaled))) <= digits
    assert nearest_digits(0.75, 1) == 1, "a tie goes up"


def test_an_output_by_hand():
    # 7 x = 8 x - x: two digits, one of them at place 0; -5 x = -(4 x) - x.
    x = activation("x", (2,), BYTE, Scale.of(-1))
    c = constant("c", [7, -5], scale=Scale.of(-2))
    assert compute("csd_gain", (x, c), [[[3, 10]]], digits=2, axis=1) == [[21, -50]]
    assert prove("csd_gain", x, c, digits=2, axis=1).outputs[0].scale == Scale.of(-3)
    assert counted("csd_gain", x, c, digits=2, axis=1) == {"shift": 2, "addsub": 2, "neg": 1}
    assert counted("csd_gain", x, constant("c", [0]), digits=1) == {}


@pytest.mark.parametrize(
    ("c", "attributes", "refused"),
    [
        (constant("c", [11]), {"digits": 2}, (FormatError, "a gain of op `csd_gain` must have at most 2 signed digits, and 11 has 3")),
        (constant("c", [1]), {"digits": 0}, (FormatError, "`digits` of op `csd_gain` must be in 1..32, not 0")),
        (constant("c", [1, 2, 4]), {"digits": 1, "axis": 1}, (ShapeError, "the gain of op `csd_gain` must have the shape (2,), not (3,)")),
        (constant("c", [1, 2]), {"digits": 1, "axis": 2}, (ShapeError, "`axis` of op `csd_gain` must be -1 or in 1..1, not 2")),
        (activation("c", (2,), BYTE), {"digits": 1}, (FormatError, "the gain of op `csd_gain` must be a constant")),
    ],
)  # fmt: skip
def test_refusals(c, attributes, refused):
    assert refusal("csd_gain", activation("x", (2,), BYTE), c, **attributes) == refused


def network():
    torch.manual_seed(0)
    return nn.Sequential(MFLinear(6, 4), CsdGain([0.7071, -1.3, 0.1, 0.0], digits=3), MFLinear(4, 3)).eval()


def test_a_layer_in_every_form():
    images = torch.rand(32, 6)
    quantized = quantize(network(), Recipe(), images)
    program = compile_model(quantized_model(quantized, images))
    strict_multiplication_free(program)
    (node,) = (n for n in program.nodes if n.op == "csd_gain")
    assert (node.layer, node.attributes["digits"]) == ("1", 3)
    (entry,), (result,) = program.inputs, program.outputs
    simulated = simulate(program, {entry: quantize_input(program, images.numpy())}).outputs[result]
    with torch.no_grad():
        expected = quantized(images).double().numpy() / 2.0 ** program.tensors[result].scale.exponent
    assert_bit_equal(simulated, expected.astype(np.int64), result)


def test_a_file_with_too_many_digits_is_refused():
    layer = network()
    layer[1].gain[0] = 0.7071
    images = torch.rand(32, 6)
    with pytest.raises(
        (FormatError, ModelError), match=r"a gain of op `csd_gain` must have at most 3 signed digits, and \d+ has"
    ):
        quantized_model(quantize(layer, Recipe(), images), images)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "`values` must be at least one finite number, not []"),
        (([float("nan")],), "`values` must be at least one finite number, not [nan]"),
        (([1.0], 33), "`digits` must be in 1..32, not 33"),
    ],
)
def test_wrong_layers(arguments, message):
    with pytest.raises(FormatError) as error:
        CsdGain(*arguments)
    assert str(error.value) == message
