"""Token networks from torch to integers: torch, model.onnx, simulator, definitions and integer.onnx, 0 differences."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.errors import ExportError
from mfsim.export.exporter import quantized_model
from mfsim.nn import TriangularLinear
from mfsim.nn.attention import PRESETS
from mfsim.quant import Recipe, quantize
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from tests.quant.token_networks import Tokens, assert_one_network, images, quantized, small_vit

RECIPES = {
    "w8a8": {},
    "w4a5-channel": {"weight": 4, "activation": 5, "residual": 9, "per_channel": True},
    "mixed": {"layers": {"act": {"activation": 10}, "weights": {"activation": 6}, "mix": {"activation": 9}}},
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("mf", [False, True])
def test_a_network_of_a_user(mf, recipe):
    assert_one_network(quantized(Tokens(mf=mf), RECIPES[recipe]), images(40, 9))


@pytest.mark.parametrize("act", [torch.nn.SiLU, torch.nn.Tanh, lambda: torch.nn.GELU("tanh")])
def test_a_table_for_each_function(act):
    program = assert_one_network(quantized(Tokens(act=act, causal=True)), images(24, 9))
    assert [node.layer for node in program.nodes if node.op == "table"] == ["act"]


UNITS = {
    name: replace(unit, heads={"gqa": 4}.get(name, 1 if unit.heads == 1 else 2))
    for name, unit in PRESETS.items()
    if unit.output != "chained"
}
GROUPS = [tuple(UNITS)[k : k + 5] for k in range(0, len(UNITS), 5)]


@pytest.mark.parametrize("names", GROUPS, ids=", ".join)
def test_every_attention_unit(names):
    model = small_vit(units=[UNITS[name] for name in names], mlp="none")
    assert_one_network(quantized(model), images(24, 9), references=0)


@pytest.mark.parametrize("name", sorted(PRESETS.keys() - UNITS))
def test_attention_units_that_stand_alone(name):
    model = small_vit("min-transformer", norm="none", residual=False, attention=name)
    assert_one_network(quantized(model), images(24, 9), references=0)


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "rms", "mlp": "swiglu"},
        {"norm": "layer-reciprocal", "mlp": "silu"},
        {"norm": "shift-l1", "mlp": "wht"},
        {"norm": "shift-l2", "mlp": "relu", "head": "mean"},
        {"norm": "rms-reciprocal", "mlp": "mf"},
    ],
)
def test_every_norm_and_mlp(options):
    assert_one_network(quantized(small_vit(**options)), images(24, 9), references=0)


def test_nothing_multiplies_or_divides_in_mf_vit():
    program = assert_one_network(quantized(small_vit("mf-vit", depth=2)), images(24, 9))
    rows = [row for row in count(program).rows if not row.offline]
    assert not {row.primitive for row in rows} & {"mul", "div", "sqrt"}


def test_products_of_two_activations_are_counted_as_such():
    program = compile_model(quantized_model(quantized(Tokens()), images(2)))
    rows = [row for row in count(program).rows if row.primitive == "mul"]
    kinds = {row.layer: row.multiplied_by for row in rows if row.layer in ("project", "scores", "mix", "gate", "head")}
    assert kinds == {
        "project": "learned",
        "scores": "activation",
        "mix": "activation",
        "gate": "activation",
        "head": "learned",
    }
    assert {row.layer: row.count for row in rows if row.layer == "scores"} == {"scores": 2 * 17 * 17 * 6}


@pytest.mark.parametrize("tokens", [(), (5,)])
def test_the_zeros_of_a_triangle_are_not_multiplied(tokens):
    torch.manual_seed(4)
    x = torch.randn(32, *tokens, 8)
    network = quantize(torch.nn.Sequential(TriangularLinear(8)), Recipe(), x)
    program = assert_one_network(network, x)
    rows = math.prod(tokens)
    for found in (program, read_integer(integer_model(program))):
        (node,) = (node for node in found.nodes if node.op == "matmul")
        biases = rows * 8 * (len(node.inputs) - 2)
        operations = Counter()
        for row in count(found).rows:
            operations[row.primitive] += row.count * (row.op == "matmul")
        assert (operations["mul"], operations["addsub"]) == (rows * 8 * 9 // 2, rows * 8 * 7 // 2 + biases)


def test_a_sum_that_float32_cannot_hold_is_named():
    recipe = {"layers": {"scores": {"activation": 16}}}
    with pytest.raises(ExportError) as error:
        quantized_model(quantized(Tokens(), recipe), images(2))
    assert str(error.value) == (
        "node `scores/MatMul` (matmul) of layer `scores` has sums of 35 bits, and float32 is exact up to 25; "
        "use fewer bits in the recipe, or allow an inexact file"
    )
