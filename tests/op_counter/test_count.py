"""A torch module of anyone's, counted from shapes: by hand, by class, and what is not known by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import CountError, ModelError, ShapeError
from mfsim.nn import CsdGain, Scaling, functional
from mfsim.op_counter import Input, count_module
from mfsim.ops.distance import torch as aligned


def counted(module, *inputs, **options):
    """Return the report of `module` on inputs given by their shapes."""
    return count_module(lambda: module, [Input.parse(text) for text in inputs], **options).report


class Written(nn.Module):
    """A module with the forward pass `forward`, and a parameter of 3 x 4."""

    def __init__(self, forward):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 4))
        self.written = forward

    def forward(self, *inputs):
        return self.written(self, *inputs)


HAND = [
    ("linear", lambda m, x: F.linear(x, m.weight), {"mul": 12, "addsub": 9}, {"learned": 12}),
    ("scores", lambda m, x: x[..., None] @ x[..., None, :], {"mul": 16}, {"activation": 16}),
    ("constant-in-front", lambda m, x: m.weight @ x[..., None], {"mul": 12, "addsub": 9}, {"learned": 12}),
    ("by-a-parameter", lambda m, x: x * m.weight, {"mul": 12}, {"learned": 12}),
    ("by-itself", lambda m, x: x * x, {"mul": 4}, {"activation": 4}),
    ("square", lambda m, x: x**2, {"mul": 4}, {"activation": 4}),
    ("by-a-number", lambda m, x: x * 0.3, {"mul": 4}, {"fixed": 4}),
    ("by-a-power-of-two", lambda m, x: x * 0.25, {"shift": 4}, {}),
    ("by-minus-one", lambda m, x: x * -1, {}, {}),
    ("over-a-number", lambda m, x: x / 8, {"shift": 4}, {}),
    ("over-a-tensor", lambda m, x: x / (x + 1), {"addsub": 4, "div": 4}, {}),
    ("mean-of-four", lambda m, x: x.mean(-1), {"addsub": 3, "shift": 1}, {}),
    ("mean-of-three", lambda m, x: x[..., :3].mean(-1), {"addsub": 2, "mul": 1}, {"fixed": 1}),
    ("offline", lambda m, x: x + (m.weight * m.weight).sum(0), {"addsub": 4}, {}),
    ("function", lambda m, x: F.gelu(x), {"lut": 4}, {}),
    ("largest", lambda m, x: x.amax(-1), {"cmp": 3, "select": 3}, {}),
    ("clamp", lambda m, x: x.clamp(0, 6), {"cmp": 8, "select": 8}, {}),
    ("moved", lambda m, x: torch.cat([x, x], -1).reshape(2, 4).t(), {}, {}),
]


@pytest.mark.parametrize(("forward", "expected", "classes"), [c[1:] for c in HAND], ids=[c[0] for c in HAND])
def test_by_hand(forward, expected, classes):
    report = counted(Written(forward), "4")
    assert {name: n for name, n in report.by_primitive().items() if n} == expected
    assert {name: n for name, n in report.by_class().items() if n} == classes


def test_work_on_weights_alone_is_offline():
    report = counted(Written(lambda m, x: x + (m.weight * m.weight).sum(0)), "4")
    assert report.offline() == {"addsub": 8, "mul": 12}


def test_convolutions_and_norms():
    """8 x 8, 3 to 4 channels, 3 x 3 kernel, stride 2, padding 1: 4 * 16 outputs of 27 products, with a bias."""
    report = counted(nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU()), "3x8x8")
    assert report.by_layer() == {
        "": {},
        "0": {"addsub": 64 * 27, "mul": 64 * 27},
        "1": {"addsub": 64, "mul": 64},
        "2": {"cmp": 64, "select": 64},
    }
    one = counted(nn.Conv1d(2, 6, 5, groups=2, bias=False), "2x9")
    assert one.by_primitive() == {"addsub": 6 * 5 * 4, "mul": 6 * 5 * 5, "div": 0, "sqrt": 0}


def test_pools():
    assert counted(nn.MaxPool2d(2), "3x4x4").by_primitive()["cmp"] == 3 * 4 * 3
    assert counted(nn.AvgPool2d(2), "3x4x4").by_primitive()["addsub"] == 3 * 4 * 3
    assert counted(nn.AdaptiveAvgPool2d(1), "3x4x4").by_primitive()["addsub"] == 3 * 15


def test_words_are_as_wide_as_the_elements():
    half = Written(lambda m, x: x.to(torch.bfloat16) * x.to(torch.bfloat16))
    assert counted(half, "4").by_width() == {("mul", (16, 16)): 4}


def test_tokens():
    report = counted(nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 2)), "6:int")
    assert report.by_primitive() == {"addsub": 6 * 2 * 8, "lut": 6, "mul": 6 * 2 * 8, "div": 0, "sqrt": 0}


def test_the_rule_of_papers_counts_products_only():
    module = Written(lambda m, x: F.gelu(F.linear(x, m.weight)) * 0.3)
    report = counted(module, "4", rule="paper")
    assert report.by_primitive() == {"mul": 12, "div": 0, "sqrt": 0}


def test_parameters_are_counted_once():
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    assert count_module(lambda: tied, [Input((4,))]).parameters == 16 + 4 + 4


def test_gains_that_are_powers_of_two_relabel():
    assert counted(Scaling(4, kind="shift"), "4").by_primitive() == {"mul": 0, "div": 0, "sqrt": 0}
    assert counted(Scaling(4, kind="multiply"), "4").by_class()["learned"] == 4


def test_a_model_too_large_for_memory_is_counted():
    """Two layers of 2**20 x 2**20 weights would take 8 TiB."""
    n = 1 << 20
    found = count_module(lambda: nn.Sequential(nn.Linear(n, n), nn.Linear(n, n)), [Input((n,))])
    assert found.parameters == 2 * (n * n + n)
    assert found.report.by_primitive()["mul"] == 2 * n * n


def test_what_is_not_known_is_named():
    module = nn.Sequential(nn.Linear(4, 4), nn.GroupNorm(2, 4))
    with pytest.raises(
        CountError, match=r"node `1/native_group_norm` of layer `1` cannot be counted: no count is known"
    ):
        counted(module, "4")
    (found,) = counted(module, "4", allow_uncounted=True).uncounted
    assert (found.layer, found.op) == ("1", "native_group_norm")


@pytest.mark.parametrize(
    ("forward", "sentence"),
    [
        (lambda m, x: x**3, "of powers only the square is counted, not the exponent 3"),
        (lambda m, x: F.conv_transpose2d(x.reshape(1, 1, 2, 2), x.reshape(1, 1, 2, 2)), "not transposed, are counted"),
        (lambda m, x: F.adaptive_avg_pool2d(x.reshape(1, 1, 2, 2), (2, 1)), "only the global one is counted"),
    ],
)
def test_what_is_not_counted_says_why(forward, sentence):
    with pytest.raises(CountError, match=sentence):
        counted(Written(forward), "4")


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("wht", lambda m, x: functional.wht(x)),
        ("mf_matmul", lambda m, x: functional.mf_matmul(x, m.weight.t())),
        ("adder_matmul", lambda m, x: aligned.adder_matmul(x, m.weight.t())),
        ("shift", lambda m, x: functional.shift(x, torch.tensor(2.0))),
        ("csd_gain", lambda m, x: CsdGain([0.7])(x)),
    ],
)
def test_a_function_is_not_counted_as_the_products_that_torch_makes_of_it(name, forward):
    with pytest.raises(CountError, match=f"what a device executes for `{name}` is not known here"):
        counted(Written(forward), "4")
    report = counted(Written(forward), "4", allow_uncounted=True)
    assert not report.multiplications()
    assert [found.op for found in report.uncounted] == [name]
    assert not functional.OBSERVERS


def test_wrong_input_is_one_sentence():
    with pytest.raises(CountError, match="`rule` must be one of full, paper, not 'papr'; did you mean `paper`"):
        counted(nn.Linear(4, 4), "4", rule="papr")
    with pytest.raises(ModelError, match=r"the module cannot run on inputs \[\(5,\)\]"):
        counted(nn.Linear(4, 4), "5")
    with pytest.raises(ModelError, match="what is counted must be a torch module, not int"):
        count_module(lambda: 3, [Input((4,))])
    with pytest.raises(ModelError, match="the module cannot be made: no such width"):
        count_module(lambda: (_ for _ in ()).throw(ValueError("no such width")), [Input((4,))])
    for text in ("", "3x", "0", "a", "3x-1"):
        with pytest.raises(ShapeError, match="an input must be sizes of at least 1 with x between"):
            Input.parse(text)
    with pytest.raises(ShapeError, match="the kind of an input must be int or float, not 'itn'; did you mean `int`"):
        Input.parse("4:itn")
