"""Filterbanks by fixed-point Fourier transforms: by hand, against the float filter, counts, layers, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.errors import FormatError, MfsimError, RangeError, ShapeError
from mfsim.export import open_model
from mfsim.export.exporter import quantized_model
from mfsim.ir.formats import Format, Scale
from mfsim.nn import Filterbank
from mfsim.nn.attention import PRESETS
from mfsim.nn.filterbank import filters
from mfsim.op_counter.fast_transforms import counted as float_counts
from mfsim.ops.fourier import filterbank_tables as constants
from mfsim.ops.fourier.dft_tables import cosines
from mfsim.ops.fourier.filterbank import even
from mfsim.ops.fourier.kernels import run_filterbank
from mfsim.ops.fourier.quant import QuantFilterbankFFT
from mfsim.ops.op import activation, constant
from mfsim.quant import Recipe, load, quantize, save
from tests.ops.proving import compute, counted, prove, refusal
from tests.quant.token_networks import assert_one_network, images, quantized, small_vit

BYTE = Format(8)
OPTIONS = {"fraction": 4, "guard": 3, "passing": 1}


def inputs(grid, bits, *, heads=1, features=2, passing=1, word=BYTE, exponent=-4, gains=None, places=9):
    x = activation("x", (heads, passing + grid * grid, features), word, Scale.of(exponent))
    table = constant("cosines", cosines(grid, bits), scale=Scale.of(-bits))
    if gains is None:
        gains = even(np.random.default_rng(0), (heads, grid, grid), 1, 100)
    return x, table, constant("gains", gains, scale=Scale.of(-places))


def fused(grid, most):
    """Return even gains of an untrained bank on 2**-20, the largest `most`."""
    gains = filters(grid).mean(0)
    gains = gains + np.roll(gains[::-1, ::-1], (1, 1), (0, 1))
    return np.rint(gains / gains.max() * most * 2**20).astype(np.int64)[None]


def test_an_image_by_hand():
    # A gain of 1/2 at frequency 0 and 0 elsewhere leaves half the mean: of 15 patches of 3 and one of 19, which is 4.
    gains = np.zeros((1, 4, 4), dtype=np.int64)
    gains[0, 0, 0] = 1
    pair = inputs(4, 1, gains=gains, places=1, exponent=0)
    tokens = [[-7, 9], *[[3, -5]] * 15, [19, -5]]
    found = compute("filterbank", pair, [[[tokens]]], fraction=1, guard=0, passing=1)
    assert found == [[[[-14, 18], *[[4, -5]] * 16]]]
    # The wave (-1)**column alone has a gain, of 1: 3 and 1 in turn become 1 and -1, whatever the other feature is.
    gains = np.zeros((1, 4, 4), dtype=np.int64)
    gains[0, 0, 2] = 4
    pair = inputs(4, 1, gains=gains, places=2, passing=0, exponent=0)
    found = compute("filterbank", pair, [[[[[3, 9], [1, 9]] * 8]]], fraction=0, guard=2, passing=0)
    assert found == [[[[1, 0], [-1, 0]] * 8]]


@pytest.mark.parametrize(("grid", "most"), [(4, 0.127), (8, 0.127), (8, 1.0), (16, 0.127), (16, 1.0)])
def test_the_error_stays_below_its_bound(grid, most):
    gains, fraction, exponent, size = fused(grid, most), 5, -4, grid * grid
    guard, bits = constants.defaults(grid, 128, most, 21, fraction, exponent)
    bound = constants.result_error(grid, 128, most, guard, fraction, exponent, bits)
    assert bound <= 0.25
    rng = np.random.default_rng(grid)
    response = np.fft.ifft2(gains[0]).real.reshape(-1)
    farthest = np.where(np.roll(response[::-1], 1) >= 0, 127, -128)  # reaches the greatest result
    x = np.concatenate(
        [
            rng.integers(-128, 128, (200, 1, size, 2)),
            np.where(rng.random((200, 1, size, 2)) < 0.5, -128, 127),
            np.broadcast_to(farthest[:, None], (1, 1, size, 2)),
        ]
    )
    shift = constants.result_places(grid, guard, fraction, exponent)
    attributes = {"guard": guard, "passing": 0, "gain_places": 20, "shift": shift, "products": "mul"}
    out, again = np.empty_like(x), np.empty_like(x)
    run_filterbank([x, np.array(cosines(grid, bits)), gains], attributes, [out])
    spectrum = np.fft.fft2(x.reshape(-1, grid, grid, 2), axes=(1, 2)) * (gains[0] * 2.0**-20)[..., None]
    exact = np.fft.ifft2(spectrum, axes=(1, 2)).real.reshape(x.shape) * 2.0 ** (exponent + fraction)
    # 1e-9 for the float transform, whose values are below 2^12.
    assert np.abs(out - exact).max() <= 0.5 + bound + 1e-9
    run_filterbank([x, np.array(cosines(grid, bits)), gains], attributes | {"products": "shift"}, [again])
    assert np.array_equal(out, again)


def test_too_few_bits_have_a_bound_that_says_so():
    grid, bits, gains = 16, 4, fused(16, 1.0)
    x = np.where(np.random.default_rng(0).random((300, 1, 256, 2)) < 0.5, -128, 127)
    out = np.empty_like(x)
    attributes = {"guard": 0, "passing": 0, "gain_places": 20, "shift": -8, "products": "mul"}
    run_filterbank([x, np.array(cosines(grid, bits)), gains], attributes, [out])
    spectrum = np.fft.fft2(x.reshape(-1, grid, grid, 2), axes=(1, 2)) * (gains[0] * 2.0**-20)[..., None]
    error = np.abs(out - np.fft.ifft2(spectrum, axes=(1, 2)).real.reshape(x.shape)).max()
    assert 3 < error < 0.5 + constants.result_error(grid, 128, 1.0, 0, 0, 0, bits)


def test_rounded_gains_add_at_most_what_their_bound_says():
    gains, x = fused(8, 0.127)[0] * 2.0**-20, np.where(np.random.default_rng(1).random((500, 8, 8)) < 0.5, -128, 127)
    off = np.rint(gains * 2**7) / 2**7 - gains
    error = np.abs(np.fft.ifft2(np.fft.fft2(x) * off)).max()
    assert 0.2 < error <= constants.gain_error(8, 128, 7, 0, 0) == 4


@pytest.mark.parametrize("grid", [4, 8, 16])
@pytest.mark.parametrize("features", [2, 3])
def test_counts_are_those_of_the_float_transform_and_of_its_roundings(grid, features):
    heads, q, pairs = 2, grid.bit_length() - 1, 2 * -(-features // 2)
    found = counted("filterbank", *inputs(grid, 12, heads=heads, features=features), **OPTIONS)
    floats = float_counts("filtered", grid)
    assert found["mul"] == pairs * (floats.get("mul fixed", 0) + floats["mul learned"])
    turned, results = 4 * grid * ((q - 3) * grid // 2 + 2), heads * features * grid**2
    roundings = pairs * 2 * (turned + grid**2) + results  # on the grid of x, so that what passes is not moved
    assert found["addsub"] == pairs * floats["addsub"] + roundings
    assert found["shift"] == results + roundings


def test_signed_digits_take_the_place_of_multiplications():
    pair = inputs(8, 8)
    plain, digits = (counted("filterbank", *pair, **OPTIONS, products=kind) for kind in ("mul", "shift"))
    assert plain["mul"] == 256
    assert digits["mul"] == 0
    # sqrt(1/2) is 181 / 256 and has five digits: 128 products with it, 128 with gains of 1 to 4 digits.
    assert 128 * 4 < digits["addsub"] - plain["addsub"] < 128 * 4 + 128 * 3


def test_words_hold_what_is_met():
    words = {name: word.bits for name, word in prove("filterbank", *inputs(8, 12), **OPTIONS).words.items()}
    # 8 bits, 3 behind the point, 6 for the sum of 64, and 1 for two parts turned into one.
    assert words["bin"] == 18
    assert (words["product"], words["gained"], words["passed"]) == (30, 25, 8)


SMALL = inputs(4, 8)
UNEVEN = np.arange(16).reshape(1, 4, 4)


@pytest.mark.parametrize(
    ("tensors", "options", "refused"),
    [
        (
            (activation("x", (17, 2), BYTE), *SMALL[1:]),
            {},
            (
                ShapeError,
                "x of op `filterbank` must have the axes heads, tokens, features behind the batch, not (1, 17, 2)",
            ),
        ),
        (
            inputs(4, 8, passing=2),
            {},
            (
                ShapeError,
                "a filterbank of 1 heads over 4 x 4 patches and 1 passing tokens does not suit x (1, 1, 18, 2)",
            ),
        ),
        (
            (SMALL[0], SMALL[1], constant("gains", np.ones((1, 6, 6), dtype=np.int64))),
            {},
            (
                ShapeError,
                "the grid of a filterbank by Fourier transforms must have a side that is a power of two of at least "
                "4, not 6; the form product takes any",
            ),
        ),
        (
            (SMALL[0], SMALL[1], constant("gains", UNEVEN, scale=Scale.of(-4))),
            {},
            (
                FormatError,
                "the gains of op `filterbank` must be even: the same for a frequency and its negative",
            ),
        ),
        (
            (SMALL[0], constant("c", [256, 1], scale=Scale.of(-8)), SMALL[2]),
            {},
            (FormatError, "the cosines of op `filterbank` must be those of 4 codes on their scale"),
        ),
        (
            inputs(4, 8, places=31),
            {},
            (FormatError, "the gains of op `filterbank` must lie on one scale of 2^-30 to 1, not on 2^-31"),
        ),
        (SMALL, {"guard": 31}, (FormatError, "`guard` of op `filterbank` must be in 0..30, not 31")),
        (SMALL, {"shift": 3}, (FormatError, "`shift` of op `filterbank` must be -7 for its scales, not 3")),
    ],
)
def test_refusals(tensors, options, refused):
    assert refusal("filterbank", *tensors, **OPTIONS | options) == refused


def test_words_past_63_bits_are_refused():
    with pytest.raises(RangeError, match=r"^a bin times a cosine needs \d+ bits"):
        prove("filterbank", *inputs(8, 30, word=Format(24)), **OPTIONS | {"guard": 20})


def test_a_vision_transformer_with_fourier_transforms():
    unit = replace(PRESETS["sq-sk-k"], heads=2, filterbank_form="csd")
    program = assert_one_network(quantized(small_vit(attention=unit)), images(24, 9))
    nodes = [node for node in program.nodes if node.op == "filterbank"]
    assert [node.attributes["products"] for node in nodes] == ["shift"] * 2


class Filtered(torch.nn.Module):
    """A filterbank between two other layers, on 8 x 8 patches."""

    def __init__(self, form="fft"):
        super().__init__()
        self.first, self.bank, self.head = torch.nn.Linear(3, 3), Filterbank(2, 8, form=form), torch.nn.Linear(3, 5)
        torch.nn.init.normal_(self.bank.fusion)

    def forward(self, x):
        return self.head(self.bank(self.first(x)))


@pytest.fixture(scope="module")
def filtered():
    torch.manual_seed(0)
    return Filtered().eval(), torch.randn(20, 2, 65, 3)


@pytest.mark.parametrize(("form", "classes"), [("fft", {"fixed", "learned"}), ("csd", set())])
def test_every_realisation_gives_one_set_of_codes(filtered, form, classes):
    model, x = Filtered(form), filtered[1]
    model.load_state_dict(filtered[0].state_dict())
    program = assert_one_network(quantize(model.eval(), Recipe.from_dict({}), x), x[:8])
    (node,) = (node for node in program.nodes if node.op == "filterbank")
    made = {row.multiplied_by for row in count(program).rows if row.node == node.name and row.primitive == "mul"}
    assert made == classes


def test_words_can_be_changed_in_the_file(filtered):
    model, x = filtered
    contents = ({}, {"weight": 5, "activation": 7}, {"weight": 10, "calibration": "max"})
    files = [quantized_model(quantize(model, Recipe.from_dict(c), x), x[:1], allow_inexact=True) for c in contents]
    opened = open_model(files[0])
    assert "weight" in opened.keys["bank"]
    for content, file in zip(contents, files, strict=True):
        opened.set_formats(Recipe.from_dict(content))
        assert opened.model().SerializeToString(deterministic=True) == file.SerializeToString(deterministic=True)
        gains = compile_model(file).tensors["bank.weight_quant"]
        assert gains.format.bits == content.get("weight", 8)


def test_a_saved_network_is_the_same(filtered, tmp_path):
    model, x = filtered
    network = quantize(model, Recipe.from_dict({}), x)
    again = load(save(network, tmp_path / "network.safetensors"), Filtered())
    assert torch.equal(network(x), again(x))


def test_the_layer_is_near_its_float_function_and_has_its_gradient(filtered):
    model, x = filtered
    network = quantize(model, Recipe.from_dict({"activation": 12, "weight": 12}), x)
    layer, codes = network.model.bank, network.model.bank.input_quant(x).detach()
    assert isinstance(layer, QuantFilterbankFFT)
    y = layer(codes.requires_grad_())
    assert (y - layer.function(codes)).abs().max() <= 0.75 * layer.y_scale
    # Gains of 12 bits on 2^-13 or finer, of 2048 codes: half a step of each of 64 bins.
    largest = 2048 * float(layer.input_quant.scale)
    assert (y - model.bank(codes)).abs().max() <= 0.75 * layer.y_scale + 8 * largest * 2.0**-14
    weights = torch.randn_like(y)
    (gradient,) = torch.autograd.grad((y * weights).sum(), codes)
    (expected,) = torch.autograd.grad((layer.function(codes) * weights).sum(), codes)
    assert torch.equal(gradient, expected)


def test_even_gains_give_the_matrix():
    torch.manual_seed(1)
    for normalise in (False, True):
        bank = Filterbank(2, 8, 1, normalise).double()
        torch.nn.init.normal_(bank.fusion)
        x = torch.randn(3, 2, 65, 4, dtype=torch.float64)
        images = x[:, :, 1:].reshape(3, 2, 8, 8, 4)
        spectrum = torch.fft.fft2(images, dim=(2, 3)) * bank.even_gains()[..., None]
        filtered = torch.fft.ifft2(spectrum, dim=(2, 3))
        assert torch.allclose(filtered.real.reshape(3, 2, 64, 4), bank(x)[:, :, 1:])
        assert filtered.imag.abs().max() < 1e-12


def test_wrong_layers():
    with pytest.raises(FormatError) as error:
        Filterbank(2, 8, form="ftf")
    assert str(error.value) == (
        "`form` of a filterbank must be one of product, fft, csd, not 'ftf'; did you mean `fft`?"
    )
    with pytest.raises(ShapeError) as grid:
        Filterbank(2, 7, form="csd")
    assert str(grid.value) == (
        "the grid of a filterbank by Fourier transforms must have a side that is a power of two of at least 4, "
        "not 7; the form product takes any"
    )
    assert repr(Filterbank(2, 8, form="csd")) == "Filterbank(2, grid=8, passing=1, normalise=False, form=csd)"


def test_gains_that_are_not_even_in_a_file_are_refused(filtered):
    model, x = filtered
    file = quantized_model(quantize(model, Recipe.from_dict({}), x), x[:1], allow_inexact=True)
    (stated,) = (tensor for tensor in file.graph.initializer if tensor.name == "bank.weight")
    values = np.frombuffer(stated.raw_data, dtype=np.float32).reshape(2, 8, 8).copy()
    values[0, 1, 2] *= 2
    stated.raw_data = values.tobytes()
    with pytest.raises(MfsimError, match=r": the gains of op `filterbank` must be even: "):
        compile_model(file)
