"""The tables of docs/attention.md say what the code does."""

from __future__ import annotations

import pathlib
import re

import torch

from mfsim.nn import models
from mfsim.nn.attention import PRESETS, cached_features

TEXT = (pathlib.Path(__file__).parents[3] / "docs" / "attention.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.split("## Presets")[1].split("\n")
    if line.startswith("| `")
]
ROWS = [row for row in ROWS if row[0].strip("`") in PRESETS]


def test_every_preset_is_listed_once_in_order():
    assert [row[0].strip("`") for row in ROWS] == list(PRESETS)


def test_parameters_and_cached_values():
    for name, _, _, count, cached in ROWS:
        name = name.strip("`")
        if count:
            with torch.device("meta"):
                model = models.create("mini-vit", (3, 32, 32), 10, attention=name)
            assert f"{sum(p.numel() for p in model.parameters()):,}" == count, name
        values = sum(cached_features(PRESETS[name], 128).values())
        narrow = 128 // PRESETS[name].heads * PRESETS[name].groups
        assert values == {"2 kv": 2 * narrow, "kv": narrow, "d": 128}[cached], name


def test_every_transformer_is_listed():
    listed = set(re.findall(r"`([a-z0-9.-]+)`", TEXT.split("## Models")[1]))
    transformers = {name for name in models.NAMES if re.search("vit|transformer|gpt|qwen|htma", name)}
    assert len(transformers) == 9
    assert listed >= transformers
