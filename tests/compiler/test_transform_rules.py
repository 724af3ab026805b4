"""Fixed-point transforms and Gram products in a file: like ONNX Runtime; what they state must hold."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.compiler import compile_model
from mfsim.errors import MfsimError
from mfsim.ops.fourier import dct_tables, dft_tables
from mfsim.ops.fourier import filterbank_tables as filterbanks
from tests.compiler.files import File, assert_like_runtime, images

N = 8
GUARD, BITS, FRACTION = 3, 12, 4


def stated(op):
    """Return the constants of `op` for x on 2^-4."""
    if op == "DCT":
        return [*dct_tables.stages(N, BITS), dct_tables.factors(N, GUARD, FRACTION, -4, BITS)]
    factors = dft_tables.estimate_factors if op == "DFTAlphaBeta" else dft_tables.factors
    return [*dft_tables.stages(N, BITS), dft_tables.bins(N), factors(N, GUARD, FRACTION, -4, BITS)]


def node(file, op, constants, x_scale=2.0**-4, y_scale=2.0**-FRACTION):
    given = [file.constant(np.array(values), dtype=np.int64) for values in constants]
    inputs = [file.quant("x"), file.constant(x_scale), *given, file.constant(y_scale)]
    return file.mf(op, *inputs, **({} if op == "DFTMagnitude" else {"products": "shift"}))


@pytest.mark.parametrize(
    ("op", "name"), [("DCT", "dct"), ("DFTMagnitude", "dft_magnitude"), ("DFTAlphaBeta", "dft_alpha_beta")]
)
def test_transforms(op, name):
    file = File(x=(3, N))
    program = assert_like_runtime(file.model(node(file, op, stated(op))), images((3, N)))
    (found,) = program.nodes
    assert (found.op, found.attributes["guard"], found.attributes["fraction"]) == (name, GUARD, FRACTION)
    assert found.attributes.get("products", "shift") == "shift"
    assert program.inputs_of(found)[1].scale.exponent == -BITS


def test_products_of_rows():
    file = File(x=(2, 3, 5))
    program = assert_like_runtime(file.model(file.mf("Gram", file.quant("x"))), images((2, 3, 5)))
    assert [found.op for found in program.nodes] == ["gram"]


CHANGED = {
    "DCT": ("the places", "the weights", "the factors"),
    **dict.fromkeys(("DFTAlphaBeta", "DFTMagnitude"), ("the places", "the weights", "the bins", "the factors")),
}


@pytest.mark.parametrize(("op", "k"), [(op, k) for op, names in CHANGED.items() for k in range(len(names))])
def test_what_a_transform_states_must_hold(op, k):
    constants = [np.array(values) for values in stated(op)]
    constants[k].reshape(-1)[-1] += 1
    file = File(x=(3, N))
    kind = "multipliers" if op == "DCT" else "cosines"
    with pytest.raises(MfsimError) as error:
        compile_model(file.model(node(file, op, constants)))
    assert str(error.value).endswith(
        f": {CHANGED[op][k]} must be those of a transform of 8 codes with 12 bits of {kind}"
    )


@pytest.mark.parametrize("op", CHANGED)
def test_factors_that_are_no_factors(op):
    constants = [np.array(values) for values in stated(op)]
    constants[-1] = -constants[-1]
    file = File(x=(3, N))
    with pytest.raises(MfsimError, match=r": the factors must be positive, and begin with those of "):
        compile_model(file.model(node(file, op, constants)))


@pytest.mark.parametrize("op", CHANGED)
def test_other_scales(op):
    for scales, message in (
        ({"x_scale": 2.0**-5}, r": the scale of x must be 2\^-4, not 2\^-5$"),
        ({"y_scale": 2.0**-5}, r": the factors must be those of a transform of 8 codes with 12 bits of "),
    ):
        file = File(x=(3, N))
        with pytest.raises(MfsimError, match=message):
            compile_model(file.model(node(file, op, stated(op), **scales)))


def bank(changed=None):
    """Return a file with a filterbank over 8 x 8 patches of 3 features, one of its constants `changed`."""
    file = File(x=(1, 65, 3))
    gains = np.full((1, 8, 8), 0.25, dtype=np.float32)
    constants = [*filterbanks.stages(8, BITS), filterbanks.factors(8, GUARD, FRACTION, -4, BITS)]
    constants = [np.array(values) for values in constants]
    if changed is not None:
        constants[changed].reshape(-1)[-1] += 1
    given = [file.constant(values, dtype=np.int64) for values in constants]
    inputs = [
        file.quant("x"),
        file.constant(2.0**-4),
        file.quant(file.constant(gains), -6),
        file.constant(2.0**-6),
    ]
    return file.model(
        file.mf("Filterbank", *inputs, *given, file.constant(2.0**-FRACTION), passing=1, products="shift")
    )


def test_a_filterbank():
    program = assert_like_runtime(bank(), images((1, 65, 3)))
    (found,) = program.nodes
    attributes = {"guard": GUARD, "fraction": FRACTION, "passing": 1, "products": "shift", "gain_places": 6}
    assert attributes.items() <= found.attributes.items()
    assert [program.inputs_of(found)[k].scale.exponent for k in (1, 2)] == [-BITS, -6]


@pytest.mark.parametrize(("k", "what"), [*enumerate(("the places", "the weights", "the factors"))])
def test_what_a_filterbank_states_must_hold(k, what):
    with pytest.raises(MfsimError) as error:
        compile_model(bank(k))
    assert str(error.value).endswith(f": {what} must be those of a filterbank of 8 x 8 patches with 12 bits of cosines")
