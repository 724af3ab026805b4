"""Layers whose operands have a structure that a device does not compute twice."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mfsim.errors import CountError
from mfsim.nn import DCT, DFTMagnitude, Filterbank, Gram, MatMul, TriangularLinear
from mfsim.op_counter import Input, count_module


class Scores(nn.Module):
    """Products of the rows of x with each other, or with a copy of them."""

    def __init__(self, product, copied):
        super().__init__()
        self.product, self.copied = product, copied

    def forward(self, x):
        return self.product(x, x.clone() if self.copied else x)


def counts(module, *shape):
    report = count_module(lambda: module, [Input(shape)]).report
    return {**report.by_class(), "addsub": report.by_primitive().get("addsub", 0)}


def test_of_a_product_of_a_tensor_with_itself_one_triangle_is_computed():
    assert counts(Scores(Gram(), False), 3, 7, 5) == {
        "learned": 0,
        "activation": 3 * 28 * 5,
        "fixed": 0,
        "addsub": 3 * 28 * 4,
    }


def test_of_a_product_with_another_tensor_everything_is_computed():
    full = {"learned": 0, "activation": 3 * 49 * 5, "fixed": 0, "addsub": 3 * 49 * 4}
    assert counts(Scores(Gram(), True), 3, 7, 5) == full
    assert counts(Scores(MatMul(transpose_b=True), False), 3, 7, 5) == full


def test_a_triangle_has_half_the_products():
    expected = {"learned": 7 * 15, "activation": 0, "fixed": 0, "addsub": 7 * 10}
    assert counts(TriangularLinear(5), 7, 5) == expected


def test_magnitudes_are_those_of_the_fixed_point_transform():
    """Of length 32, for each row: 54 products of the radix-2 transform and 2 by sqrt(1/2), as log2 32 is odd; 164 + 15
    additions, and those that round."""
    found = counts(DFTMagnitude(32), 7, 32)
    assert (found["activation"], found["fixed"]) == (7 * 30, 7 * 56)
    assert found["addsub"] > 7 * (164 + 15)
    assert counts(DFTMagnitude(64), 7, 64)["fixed"] == 7 * 166


def test_magnitudes_of_another_length_are_named():
    message = (
        "node `DFTMagnitude` of layer `` cannot be counted: "
        "the length of a fixed-point Fourier transform must be a power of two of at least 4, not 12"
    )
    with pytest.raises(CountError, match=f"^{message}$"):
        count_module(lambda: DFTMagnitude(12), [Input((12,))])


def test_a_cosine_transform_is_counted_in_its_form():
    dense, fast, csd = (counts(DCT(32, form), 7, 32) for form in ("dense", "fast", "csd"))
    assert dense == {"learned": 0, "activation": 0, "fixed": 7 * 32 * 32, "addsub": 7 * 32 * 31}
    products = 32 * 5 // 2 + 1
    assert fast == {"learned": 0, "activation": 0, "fixed": 7 * products, "addsub": 7 * (209 + products + 32)}
    assert (csd["fixed"], csd["addsub"] > fast["addsub"] + 2 * fast["fixed"]) == (0, True)


def test_magnitudes_are_counted_in_their_form():
    root, estimated, csd = (counts(DFTMagnitude(64, form), 7, 64) for form in ("root", "alpha-beta", "csd"))
    assert (root["activation"], estimated["activation"], csd["activation"]) == (7 * 62, 0, 0)
    assert (root["fixed"], estimated["fixed"], csd["fixed"]) == (7 * 166, 7 * 166, 0)
    assert csd["addsub"] > estimated["addsub"] > root["addsub"]


def test_a_filterbank_is_counted_in_its_form():
    product, fft, csd = (counts(Filterbank(2, 8, form=form), 2, 65, 4) for form in ("product", "fft", "csd"))
    assert (product["learned"], product["fixed"]) == (2 * 65 * 65 * 4, 0)
    assert (fft["learned"], fft["fixed"]) == (4 * 128, 4 * 128)
    assert (csd["learned"], csd["fixed"], csd["addsub"] > fft["addsub"]) == (0, 0, True)
    # Additions of four pairs of features, and what rounds: 128 parts of turned codes and of gained ones, and results,
    # those of the tokens that pass among them.
    assert fft["addsub"] == 4 * (1664 + 128 + 128 + 128 + 2)


def test_a_symmetric_unit_hands_one_tensor_to_its_scores():
    from mfsim.nn.attention import PRESETS, Attention

    unit = Attention(PRESETS["symmetric"], 8, 3)
    seen = []
    unit.scores.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0] is inputs[1]))
    unit(torch.zeros(1, 3, 8))
    assert seen == [True]
