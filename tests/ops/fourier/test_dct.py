"""The fast cosine transform of codes: by hand, against the matrix, counts of the literature, layers, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.errors import FormatError, MfsimError, RangeError, ShapeError
from mfsim.export.exporter import quantized_model
from mfsim.ir.formats import Format, Scale
from mfsim.nn import DCT
from mfsim.nn.attention import PRESETS
from mfsim.nn.fourier import dct_matrix
from mfsim.op_counter.fast_transforms import counted as float_counts
from mfsim.ops.fourier import dct_tables
from mfsim.ops.fourier.kernels import run_dct
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal
from tests.quant.token_networks import assert_one_network, images, quantized, small_vit

BYTE = Format(8)


def inputs(n, bits, word=BYTE, exponent=-4):
    table = constant("multipliers", dct_tables.multipliers(n, bits), scale=Scale.of(-bits))
    return activation("x", (n,), word, Scale.of(exponent)), table


def test_an_output_by_hand():
    # n = 2: (7 + 3) and (7 - 3), both times sqrt(1/2) = 181 / 256: 7.07 and 2.83.
    pair = inputs(2, 8, exponent=0)
    assert compute("dct", pair, [[[7, 3]]], fraction=0, guard=0) == [[7, 3]]
    assert compute("dct", pair, [[[7, 3]]], fraction=4, guard=4) == [[113, 45]]
    # A constant row of n = 4 has 2 v at first and nothing else, exactly: sqrt(1/n) is a shift.
    assert compute("dct", inputs(4, 8, exponent=0), [[[9, 9, 9, 9]]], fraction=0, guard=2) == [[18, 0, 0, 0]]


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("fraction", [2, 5])
def test_the_error_stays_below_its_bound(n, fraction):
    guard, bits = dct_tables.defaults(n, 128, fraction, -4)
    bound = dct_tables.result_error(n, 128, guard, fraction, -4, bits)
    assert bound <= 0.25
    rng = np.random.default_rng(n + fraction)
    signs = np.where(dct_matrix(n) >= 0, 127, -128)  # rows that reach the greatest results
    rows = np.concatenate([rng.integers(-128, 128, (2000, n)), np.where(rng.random((500, n)) < 0.5, -128, 127), signs])
    out = np.empty_like(rows)
    attributes = {"guard": guard, "products": "mul", "shift": dct_tables.result_places(n, guard, fraction, -4)}
    run_dct([rows, np.array(dct_tables.multipliers(n, bits))], attributes, [out])
    exact = rows * 2.0 ** (fraction - 4) @ dct_matrix(n).T
    # 1e-9 for the float product, whose sums are below 2^20.
    assert np.abs(out - exact).max() <= 0.5 + bound + 1e-9
    again = np.empty_like(rows)
    run_dct([rows, np.array(dct_tables.multipliers(n, bits))], attributes | {"products": "shift"}, [again])
    assert np.array_equal(out, again)


def test_too_few_bits_have_a_bound_that_says_so():
    n, bits = 32, 5
    rows = np.random.default_rng(0).integers(-128, 128, (3000, n))
    out = np.empty_like(rows)
    run_dct([rows, np.array(dct_tables.multipliers(n, bits))], {"guard": 0, "products": "mul", "shift": -2}, [out])
    error = np.abs(out - rows @ dct_matrix(n).T).max()
    assert 3 < error < 0.5 + dct_tables.result_error(n, 128, 0, 0, 0, bits)


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32, 64])
def test_counts_are_those_of_lee_and_of_its_roundings(n):
    q = n.bit_length() - 1
    found = counted("dct", *inputs(n, 14), fraction=4, guard=3)
    floats = float_counts("cosine", n)
    # For even q the multiplier of the last difference of plain sums is sqrt(2) sqrt(1/2) = 1; for odd q the first
    # result takes one by sqrt(1/2).
    products = n * q // 2 + (1 if q % 2 else -1)
    assert found["mul"] == products == floats["mul fixed"] + (1 if q % 2 else -1)
    additions = 3 * n * q // 2 - n + 1
    assert floats["addsub"] == additions
    assert found["addsub"] == additions + products + n
    assert found["shift"] == n + products + n


def test_signed_digits_take_the_place_of_multiplications():
    pair = inputs(32, 12)
    plain, digits = (counted("dct", *pair, fraction=4, guard=3, products=kind) for kind in ("mul", "shift"))
    assert digits["mul"] == 0
    assert 3 * plain["mul"] < digits["addsub"] - plain["addsub"] < 5 * plain["mul"]


def test_words_hold_what_is_met_and_errors_grow_with_them():
    words = {name: word.bits for name, word in prove("dct", *inputs(64, 17), fraction=4, guard=6).words.items()}
    assert words == {"code": 22, "pair": 22, "product": 38, "raised": 21}


@pytest.mark.parametrize(
    ("pair", "attributes", "refused"),
    [
        (
            (activation("x", (12,), BYTE), inputs(8, 8)[1]),
            {},
            (ShapeError, "the length of a fast cosine transform must be a power of two of at least 2, not 12"),
        ),
        (
            (inputs(16, 8)[0], inputs(8, 8)[1]),
            {},
            (FormatError, "the multipliers of op `dct` must be those of 16 codes on their scale"),
        ),
        (inputs(8, 8), {"guard": 31}, (FormatError, "`guard` of op `dct` must be in 0..30, not 31")),
        (inputs(8, 8), {"shift": 3}, (FormatError, "`shift` of op `dct` must be -6 for its scales, not 3")),
        (
            inputs(8, 8),
            {"products": "digits"},
            (FormatError, "`products` of op `dct` must be one of mul, shift, not 'digits'"),
        ),
    ],
)
def test_refusals(pair, attributes, refused):
    assert refusal("dct", *pair, **{"fraction": 4, "guard": 5} | attributes) == refused


def test_words_past_63_bits_are_refused():
    with pytest.raises(RangeError, match=r"^a product needs \d+ bits"):
        prove("dct", *inputs(8, 30, Format(24)), fraction=4, guard=20)


@pytest.mark.parametrize(("form", "products"), [("fast", "mul"), ("csd", "shift")])
def test_a_network_with_a_fast_transform(form, products):
    unit = replace(PRESETS["qk-dctk"], heads=2, dct_form=form)
    program = assert_one_network(quantized(small_vit(attention=unit)), images(24, 9))
    (node,) = (node for node in program.nodes if node.op == "dct")
    assert node.attributes["products"] == products
    made = {row.primitive: row.multiplied_by for row in count(program).rows if row.node == node.name}
    assert made.get("mul") == {"mul": "fixed", "shift": None}[products]


def test_wrong_layers():
    with pytest.raises(FormatError) as error:
        DCT(8, "fats")
    assert str(error.value) == (
        "`form` of a cosine transform must be one of dense, fast, csd, not 'fats'; did you mean `fast`?"
    )
    with pytest.raises(ShapeError) as length:
        DCT(12, "fast")
    assert str(length.value) == "the length of a fast cosine transform must be a power of two of at least 2, not 12"
    assert repr(DCT(8, "csd")) == "DCT(8, form=csd)"


def test_stages_that_are_changed_in_a_file_are_refused():
    unit = replace(PRESETS["qk-dctk"], heads=2, dct_form="fast")
    model = quantized_model(quantized(small_vit(attention=unit)), images(2))
    (node,) = (node for node in model.graph.node if node.op_type == "DCT")
    (stated,) = (tensor for tensor in model.graph.initializer if tensor.name == node.input[3])
    values = onnx.numpy_helper.to_array(stated).copy()
    values[0, 2, 0] += 1
    stated.CopyFrom(onnx.numpy_helper.from_array(values, stated.name))
    with pytest.raises(MfsimError, match=r": the weights must be those of a transform of 8 codes with \d+ bits of mul"):
        compile_model(model)
