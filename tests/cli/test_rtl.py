"""`mfsim rtl`: the list, a written block, a checked block, wrong input."""

from __future__ import annotations

import pytest

from mfsim.rtl_models import BLOCKS, read, yosys
from tests.cli.conftest import mfsim
from tests.cli.test_wrong_input import listed, refused


def test_the_list_names_every_block():
    assert [entry["block"] for entry in mfsim("rtl", "--json").json["blocks"]] == list(BLOCKS)
    shown = mfsim("rtl").stdout
    for name in BLOCKS:
        assert name in shown


def test_a_block_is_written(tmp_path):
    shown = mfsim(
        "rtl",
        "wht",
        "--option",
        "n=16",
        "--option",
        "order=sequency",
        "--vectors",
        7,
        "--out",
        tmp_path / "wht",
        "--json",
    )
    assert shown.status == 0
    assert shown.json["top"] == "wht_n16_x8_sequency"
    assert shown.json["latency"] == 4
    assert shown.json["ports"][1] == {"name": "y_o", "words": 16, "bits": 12, "signed": True}
    made, codes = read(tmp_path / "wht")
    assert made.top == "wht_n16_x8_sequency"
    assert codes["x"].shape == (7, 16)


def test_a_block_is_described_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = mfsim("rtl", "mf_dot", "--option", "n=64")
    assert "latency 7 cycles, 191 adders and subtractors, no multiplier" in shown.stdout
    assert listed(tmp_path) == {}


@pytest.mark.usefixtures("needs_yosys")
def test_a_block_is_checked():
    shown = mfsim("rtl", "mf_term", "--option", "x_bits=4", "--check", "--check-vectors", 100, "--json")
    assert (
        shown.json["check"]["proved"]
        == "equal to the definition for all inputs; all 4,096 pairs of operands run through the gates"
    )
    assert shown.json["check"]["vectors"] >= 100
    text = mfsim("rtl", "mf_term", "--option", "x_bits=4", "--check", "--check-vectors", 100).stdout
    assert "proved: equal to the definition" in text
    assert "every code equal to the software's" in text


def test_a_check_without_yosys(monkeypatch, tmp_path):
    monkeypatch.setattr(yosys, "available", lambda: False)
    refused(
        mfsim("rtl", "wht", "--check", "--out", tmp_path / "wht"),
        "`pyosys` is needed to check a block and is not installed: `pip install pyosys==0.70`",
    )
    assert listed(tmp_path) == {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mf_dto",), "a block must be one of mf_term, mf_dot, wht, not 'mf_dto'; did you mean `mf_dot`?"),
        (("wht", "--option", "n=24"), "`n` must be a power of two, not 24"),
        (("wht", "--option", "bits=8"), "block `wht` has no parameter `bits`; did you mean `x_bits`?"),
    ],
)
def test_wrong_input(arguments, sentence, tmp_path):
    refused(mfsim("rtl", *arguments, "--out", tmp_path / "made"), sentence)
    assert listed(tmp_path) == {}


def test_options_without_a_block():
    shown = mfsim("rtl", "--option", "n=8")
    assert shown.status == 2
    assert "a block is needed" in shown.stderr
