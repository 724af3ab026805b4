"""What each integer function adds to the error: against the float function of its own input codes, in LSB."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.analysis.added import AddedErrors
from mfsim.nn import DCT, DFTMagnitude, Filterbank
from mfsim.quant import Recipe, quantize
from mfsim.quant.approximation_error import BATCH, approximation_errors


class Transforms(nn.Module):
    """Functions with a proved bound of 3/4 LSB, one behind another, and a table."""

    def __init__(self):
        super().__init__()
        self.bank, self.bins = Filterbank(2, 4, 0, form="fft"), DFTMagnitude(8, "csd")
        self.cosine, self.act, self.head = DCT(8, "fast"), nn.GELU(), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.act(self.cosine(self.bins(self.bank(x)))))


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return quantize(Transforms().eval(), Recipe.from_dict({}), inputs(40))


def inputs(count):
    return torch.randn(count, 2, 16, 8, generator=torch.Generator().manual_seed(1))


def test_every_function_has_a_row_within_its_bound(network):
    x = inputs(BATCH + 7)
    found = {row.layer: row for row in approximation_errors(network, x).rows}
    assert {layer: row.function for layer, row in found.items()} == {
        "bank": "FilterbankFFT",
        "bins": "DFTMagnitude",
        "cosine": "FastDCT",
        "act": "Table",
    }
    for row in found.values():
        assert row.values == x.numel()
        # 1e-3: the float functions are float32, of results below 2^10 LSB.
        assert 0.3 < row.max_lsb < (0.5 if row.function == "Table" else 0.75) + 1e-3
        assert 0.1 < row.mean_lsb < 0.3
        assert row.differ < 0.2
    assert found["act"].differ < 1e-3


def test_figures_of_one_layer_by_hand(network):
    x = inputs(5)
    (row, *_) = approximation_errors(network, x).rows
    layer = network.model.bank
    codes = layer.input_quant(x)
    off = (layer(x) - layer.function(codes)).double().abs() / layer.y_scale
    assert np.isclose(row.max_lsb, float(off.max()), atol=1e-4)  # differences of float32 values of 2^8 LSB
    assert np.isclose(row.mean_lsb, float(off.mean()), atol=1e-4)


def test_a_network_without_functions_has_no_rows():
    network = quantize(nn.Sequential(nn.Linear(8, 3)), Recipe.from_dict({}), torch.randn(20, 8))
    found = approximation_errors(network, torch.randn(4, 8))
    assert found == AddedErrors()
    assert found.listings() == found.records() == []


def test_no_hook_stays_behind_and_records_come_back(network):
    found = approximation_errors(network, inputs(3))
    assert not network.model.bank._forward_hooks
    assert AddedErrors.from_records(found.records()) == found
