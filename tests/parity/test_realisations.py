"""All realisations of one network: attention to another sequence, ids and reals together, differences that are found."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from mfsim import compare_realisations
from mfsim.errors import DataError
from mfsim.export.exporter import quantized_model
from mfsim.nn import Add
from mfsim.nn.attention import PRESETS, Attention
from mfsim.parity.realisations import float_pairs, integer_pairs, reference_pair
from mfsim.quant import Recipe, fold, quantize
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input
from tests.quant.decoders import LETTERS, text_ids

NAMES = [
    "quantized torch = model.onnx, optimisations on",
    "quantized torch = model.onnx, optimisations off",
    "quantized torch = simulator",
    "simulator = integer.onnx, optimisations on",
    "simulator = integer.onnx, optimisations off",
    "compiled program = program in integer.onnx, digest",
    "simulator = model.onnx, every edge, optimisations off",
    "simulator = integer.onnx, every edge, optimisations off",
    "simulator = definition of each op",
]


class Reader(nn.Module):
    """Six numbers of five features attend to letters: queries of one sequence, keys and values of another."""

    def __init__(self, preset: str) -> None:
        super().__init__()
        self.embed, self.project = nn.Embedding(len(LETTERS), 16), nn.Linear(5, 16)
        self.attend, self.add, self.head = Attention(PRESETS[preset], 16, 6), Add(), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Return [N, 6, 4]."""
        x = self.project(x)
        return self.head(self.add(x, self.attend(x, self.embed(ids))))


def reader(preset):
    """Return a quantized `Reader` and its inputs, sequences of 6 and of 9."""
    torch.manual_seed(0)
    ids = text_ids(9)
    inputs = torch.randn(len(ids), 6, 5), ids
    model = Reader(preset)
    with torch.no_grad():
        model.train()(*inputs)
    return quantize(fold(model.eval(), inputs), Recipe(), inputs), inputs


@pytest.mark.parametrize("preset", ["qvv3", "symmetric", "mf-attention"])
def test_attention_to_another_sequence_is_the_same_in_every_realisation(preset):
    network, inputs = reader(preset)
    found = compare_realisations(network, inputs, references=1, threads=1)
    codes = len(inputs[0]) * 6 * 4
    assert [pair.name for pair in found.parity] == NAMES
    *pairs, floats, integers, reference = found.parity
    assert [pair.compared for pair in (*pairs, reference)] == [*[codes] * 5, 1, 6 * 4]
    assert integers.compared >= floats.compared > 10 * codes
    assert found.differences == 0
    assert len(np.unique(found.codes["output"])) > 100
    assert found.program.inputs == ("x", "ids")


def test_a_code_that_differs_is_counted():
    network, inputs = reader("qkk")
    found = compare_realisations(network, inputs, threads=1)
    wrong = {name: codes.copy() for name, codes in found.codes.items()}
    wrong["output"][0, 0, 0] += 1
    program = found.program
    values = {name: x.numpy() for name, x in zip(program.inputs, inputs, strict=True)}
    codes = quantize_input(program, values)
    with torch.no_grad():
        made = {"output": network(*inputs).numpy()}
    floats = float_pairs(program, made, quantized_model(network, inputs), values, wrong)
    integers = integer_pairs(program, integer_model(program), codes, wrong)
    first = reference_pair(program, {name: x[:1] for name, x in codes.items()}, wrong)
    assert [pair.mismatches for pair in (*floats, *integers, first)] == [0, 0, 1, 1, 1, 0, 1]


def test_wrong_inputs():
    network, (x, ids) = reader("qkk")
    with pytest.raises(DataError) as error:
        compare_realisations(network, (x[:3], ids))
    assert str(error.value) == f"comparison needs equally many images for each input, at least one, not [3, {len(ids)}]"
    with pytest.raises(DataError) as error:
        compare_realisations(network, (x, ids), references=-1)
    assert str(error.value) == "`references` must be at least 0, not -1"
