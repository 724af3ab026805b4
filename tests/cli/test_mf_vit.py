"""`mf-vit` through the commands: a transformer that neither multiplies nor divides, proved of its integers."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.run_folder import load_program
from tests.cli.conftest import mfsim

SMALL = ("--option", "width=16", "--option", "depth=1", "--option", "hidden=16", "--option", "heads=2")


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Return folder and output of `mfsim count` on a run of a small mf-vit."""
    out = tmp_path_factory.mktemp("mf-vit") / "run"
    for command in (
        ("train", "--model", "mf-vit", *SMALL, "--epochs", 1, "--learning-rate", 0.03, "--out", out),
        ("quantize", out, "--epochs", 0),
        ("export", out),
        ("compile", out),
    ):
        shown = mfsim(*command)
        assert shown.status == 0, shown.stderr
    return out, mfsim("count", out, "--strict-multiplication-free", "--json")


def test_nothing_multiplies_or_divides(counted):
    _, shown = counted
    assert shown.status == 0, shown.stderr
    assert shown.json["multiplication_free"] is True
    assert shown.json["multiplications"] == []
    primitives = {row["primitive"]: row["count"] for row in shown.json["operations_by_primitive"]}
    assert (primitives["mul"], primitives["div"], primitives["sqrt"]) == (0, 0, 0)
    assert primitives["addsub"] > 0


def test_the_only_tables_are_those_of_tanh_and_none_is_a_square(counted):
    out, _ = counted
    program = load_program(out)
    looked_up = [node for node in program.nodes if any("table" in name or "thresholds" in name for name in node.inputs)]
    assert {node.op for node in looked_up} == {"tanh_l1_shift"}
    for node in looked_up:
        table = program.tensors[node.inputs[1]].codes
        assert np.all(np.diff(table) >= 0)
        assert np.all(np.diff(table, 2)[2:] <= 1), "tanh of magnitudes is concave, a square is convex"


def test_a_transformer_with_ordinary_products_is_refused(tmp_path):
    out = tmp_path / "run"
    for command in (
        ("train", "--model", "mini-vit", *SMALL, "--epochs", 1, "--out", out),
        ("quantize", out, "--epochs", 0),
        ("export", out),
    ):
        assert mfsim(*command).status == 0
    shown = mfsim("count", out, "--strict-multiplication-free")
    assert shown.status == 1
    assert "a multiplication-free program has no mul, div or sqrt" in " ".join(shown.stderr.split())
