"""`mfsim count` of float models."""

from __future__ import annotations

from tests.cli.conftest import mfsim


def test_a_float_model_is_counted():
    ended = mfsim("count", "dense-cnn", "--input", "1x8x8", "--json")
    assert ended.status == 0
    result = ended.json
    assert result["multiplications_by_class"][0] == {"class": "learned", "count": 121792}
    assert result["parameters"] == 14458


def test_options_reach_the_model():
    narrow = mfsim("count", "dense-cnn", "--input", "1x8x8", "--option", "width=4", "--json")
    assert narrow.json["parameters"] < 14458


def test_what_is_not_known_is_named():
    ended = mfsim(
        "count", "torch.nn:GroupNorm", "--input", "4x2x2", "--option", "num_groups=2", "--option", "num_channels=4"
    )
    assert ended.status == 1
    assert ended.stderr == (
        "mfsim: node `native_group_norm` of layer `` cannot be counted: no count is known for `native_group_norm` of torch\n"
    )


def test_wrong_input():
    assert mfsim("count", "dense-cnn", "--input", "1x8").status == 2
    assert "did you mean `dense-cnn`?" in mfsim("count", "dense-cn", "--input", "1x8x8").stderr
    assert mfsim("count", "dense-cnn", "--input", "1x8x8", "--strict-multiplication-free").status == 2
    assert mfsim("count", "runs/nothing", "--option", "width=3").status == 2
    assert mfsim("count", "dense-cnn").status == 2
