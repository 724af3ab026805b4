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


def test_an_option_is_what_it_says():
    """A chain of values needs encoders without residuals; "false" as a text would be true."""
    options = ["attention=chained-vo", "norm=none", "residual=false"]
    ended = mfsim("count", "min-transformer", "--input", "1x8x8", *(word for o in options for word in ("--option", o)))
    assert ended.status == 0
    twice = mfsim("count", "dense-cnn", "--input", "1x8x8", "--option", "width=4", "--option", "width=8")
    assert twice.status == 2
    assert "`--option` width is given twice" in twice.stderr


def test_taps_in_the_padding_count_or_not():
    options = ("count", "dense-cnn", "--input", "1x8x8", "--json")
    executed, valid = (mfsim(*options, *more).json for more in ((), ("--taps", "valid")))
    assert (executed["taps"], valid["taps"]) == ("executed", "valid")
    assert valid["multiplications_by_class"][0]["count"] < executed["multiplications_by_class"][0]["count"] == 121792
    wrong = mfsim(*options, "--taps", "valud")
    assert wrong.status == 2
    assert "`taps` must be one of executed, valid, not 'valud'; did you mean `valid`?" in " ".join(
        wrong.stderr.replace("│", "").split()
    )
