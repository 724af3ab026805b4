"""Networks of the papers counted from shapes: the totals that the papers print, and those of their formulas."""

from __future__ import annotations

import pytest

from mfsim.nn import models
from mfsim.op_counter import Input, count_module

CIFAR, TINY = ((3, 32, 32), 10), ((3, 64, 64), 200)


def counted(name, shape, classes, rule="paper", **options):
    """Return the count of a model for images."""
    return count_module(lambda: models.create(name, shape, classes, **options), [Input(shape)], rule)


@pytest.mark.parametrize(
    ("data", "attention", "patch", "multiplications"),
    [
        (CIFAR, "qkv", 4, 182_849_664),
        (CIFAR, "qk-mfqk", 4, 168_472_704),
        (TINY, "qkv", 8, 184_655_616),
        (TINY, "qk-mfqk", 8, 170_278_656),
    ],
)
def test_multiplications_of_the_compact_vision_transformer(data, attention, patch, multiplications):
    """Learned Queries and Keys, table 3."""
    found = counted("compact-vit", *data, attention=attention, patch=patch)
    assert sum(row.count for row in found.report.rows) == multiplications


@pytest.mark.parametrize(("attention", "multiplications"), [("qkv", 38_799_616), ("qkk", 34_539_776)])
def test_multiplications_of_the_mini_vision_transformer(attention, multiplications):
    found = counted("mini-vit", *CIFAR, attention=attention)
    assert sum(row.count for row in found.report.rows) == multiplications


def test_what_a_unit_adds():
    """Per model of 4 layers, 65 tokens, width 128, 4 heads: a dense DCT 4 * 65 * 128**2 / 4 products by fixed constants,
    a WHT of length 32 no product and 4 * 65 * 128 * 5 additions."""
    plain, dct, wht = (
        counted("mini-vit", *CIFAR, rule="full", attention=name).report for name in ("qkk", "qk-dctk", "qk-whtk")
    )
    assert dct.by_class()["fixed"] - plain.by_class()["fixed"] == 1_064_960
    assert wht.by_class() == plain.by_class()
    assert wht.by_primitive()["addsub"] - plain.by_primitive()["addsub"] == 166_400


def test_a_network_without_multiplications():
    found = counted("mf-vit", (1, 8, 8), 10, rule="full")
    assert not found.report.multiplications()


@pytest.mark.parametrize(
    ("model", "options", "parameters"),
    [
        ("qwen2-1.5b", {"attention": "qkv"}, 1_543_714_304),
        ("qwen2-1.5b", {"attention": "qvv3"}, 1_538_202_112),
        (
            "nano-gpt",
            {"width": 4096, "depth": 32, "heads": 32, "vocabulary": 32000, "hidden": 11008, "context": 512},
            None,
        ),
    ],
)
def test_models_that_fit_no_memory(model, options, parameters):
    found = count_module(lambda: models.create(model, **options), [Input((512,), integer=True)])
    assert found.parameters == parameters or (parameters is None and found.parameters > 6_000_000_000)
    assert found.report.by_class()["learned"] > 500 * 1_000_000_000
