"""Products of rows with each other: by hand, words, counts, the layer with one and with two tensors."""

from __future__ import annotations

import pytest
import torch

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.errors import FormatError, ShapeError
from mfsim.export.exporter import quantized_model
from mfsim.ir.formats import Format, Scale
from mfsim.nn import Gram, MatMul
from mfsim.nn.attention import PRESETS, Attention
from mfsim.ops.dense.quant import QuantGram
from mfsim.ops.op import activation
from tests.ops.proving import compute, counted, prove, refusal
from tests.quant.token_networks import images, quantized, small_vit

BYTE = Format(8)


def test_an_output_by_hand():
    x = activation("x", (2, 3), BYTE, Scale.of(-3))
    assert compute("gram", (x,), [[[[1, 2, -3], [4, 0, 5]]]]) == [[[14, -11], [-11, 41]]]
    inference = prove("gram", x)
    assert inference.outputs[0].scale == Scale.of(-6)
    assert (inference.outputs[0].range.low, inference.outputs[0].range.high) == (-3 * 128 * 127, 3 * 128**2)
    assert counted("gram", x) == {"mul": 9, "addsub": 6}


@pytest.mark.parametrize(
    ("x", "refused"),
    [
        (
            activation("x", (3,), BYTE),
            (
                ShapeError,
                "x of op `gram` must be [batch, ..., N, K] with at least one row and term, not (1, 3)",
            ),
        ),
        (
            activation("x", (2, 3), BYTE, Scale((-1, -2, -3), 2)),
            (FormatError, "x of op `gram` must have one scale; requantize first"),
        ),
    ],
)
def test_refusals(x, refused):
    assert refusal("gram", x) == refused


def test_one_triangle_of_symmetric_scores_is_computed_and_counted():
    program = compile_model(quantized_model(quantized(small_vit(attention="symmetric")), images(2)))
    (node,) = (node for node in program.nodes if node.op == "gram")
    (x,) = program.inputs_of(node)
    heads, tokens, width = x.shape[1:]
    (products,) = (row for row in count(program).rows if row.node == node.name and row.primitive == "mul")
    assert products.count == heads * tokens * (tokens + 1) // 2 * width
    assert products.multiplied_by == "activation"
    assert "gram" in {row.op for row in count(program, "paper").rows}


def test_which_units_have_one_tensor_for_queries_and_keys():
    for name, config in PRESETS.items():
        layer = Gram if name in ("symmetric", "cholesky") else MatMul
        if config.similarity == "dot":
            assert type(Attention(config, 16, 4 if config.mixes_tokens() else 5).scores) is layer, name


def test_other_rows_meet_all_rows():
    layer, torch_layer = Gram(), MatMul(transpose_b=True)
    a, b = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    assert torch.equal(layer(a, b), torch_layer(a, b))
    assert torch.equal(layer(a), torch_layer(a, a))
    made = QuantGram(layer, 4, True)
    made.input_quant.scale.fill_(0.25)
    assert torch.equal(made(a, b), torch_layer(made.input_quant(a), made.input_quant(b)))
    assert torch.equal(made(a), torch_layer(made.input_quant(a), made.input_quant(a)))
    with pytest.raises(ShapeError) as error:
        layer(a, torch.randn(2, 5, 3))
    assert str(error.value) == "a (2, 3, 4) and b (2, 5, 3) must end in [rows, K] of one K"
