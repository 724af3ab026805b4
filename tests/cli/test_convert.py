"""`mfsim convert`, and runs whose network is converted."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from tests.cli.conftest import mfsim

RULES = """
[[rules]]
match = "*"
to = "mf"

[[rules]]
match = "1"
to = "wht"
"""


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return path


def test_json_is_the_report(rules):
    from mfsim.conversion import Rules, convert
    from tests.cli.networks import ordinary

    shown = mfsim("convert", "tests.cli.networks:ordinary", "--rules", rules, "--json")
    assert shown.status == 0, shown.stderr
    chosen = Rules.from_toml(rules)
    expected = {
        "model": "tests.cli.networks:ordinary",
        "rules": chosen.to_list(),
        **convert(ordinary(), chosen).to_json(),
    }
    assert shown.json == json.loads(json.dumps(expected))


def test_tables_for_a_person(rules):
    shown = mfsim("convert", "tests.cli.networks:ordinary", "--rules", rules, "--input-shape", "1,8,8")
    assert shown.status == 0, shown.stderr
    for text in ("Converted", "Linear 64 to 64", "WHTLayer 64 over channels", "Left as they are", "3 layers converted"):
        assert text in shown.stdout


def test_weights_go_through(rules, tmp_path):
    """Weights of the network before it is converted, converted, trained from, and rebuilt by every later step."""
    from tests.cli.networks import ordinary

    model = "tests.cli.networks:ordinary"
    network = ordinary()
    torch.nn.init.constant_(network[3].weight, 0.25)
    safetensors.torch.save_file(network.state_dict(), tmp_path / "given.safetensors")
    out, run = tmp_path / "converted.safetensors", tmp_path / "run"
    shown = mfsim("convert", model, "--rules", rules, "--checkpoint", tmp_path / "given.safetensors", "--out", out)
    assert shown.status == 0, shown.stderr
    assert f"next: mfsim train --model {model} --convert {rules} --start {out}" in shown.stdout
    assert (safetensors.numpy.load_file(out)["3.weight"] == 0.25).all()

    train = ["train", "--model", model, "--convert", rules, "--out", run]
    shown = mfsim(*train, "--start", out, "--epochs", 1, "--learning-rate", 1e-9, "--json")
    assert shown.status == 0, shown.stderr
    assert shown.json["training"]["start"] == "converted.safetensors"
    # A learning rate of nearly 0: the weights are those that training started from.
    weights = safetensors.numpy.load_file(run / "float.safetensors")["3.weight"]
    assert np.abs(weights - 0.25).max() < 1e-6
    assert json.loads((run / "run.json").read_text())["convert"] == [
        {"match": "*", "to": "mf"},
        {"match": "1", "to": "wht"},
    ]
    assert mfsim("quantize", run, "--epochs", 0).status == 0
    for command in ("export", "check", "compile"):
        shown = mfsim(command, run)
        assert shown.status == 0, shown.stderr
    shown = mfsim("count", run, "--strict-multiplication-free")
    assert shown.status == 0, shown.stderr

    again = mfsim(*train, "--checkpoint", run / "float.safetensors", "--json")
    assert again.json["training"].keys() == {"checkpoint", "seconds"}
    assert mfsim(*train, "--checkpoint", out, "--start", out).status == 2


def test_wrong_input_is_one_sentence(rules, tmp_path):
    def refused(sentence, *arguments):
        shown = mfsim(*arguments)
        assert (shown.status, shown.stderr) == (2, f"mfsim: {sentence}\n")

    rules.write_text('[[rules]]\nmatch = "fc"\nto = "mf"\n')
    sentence = "the rule `fc` matches no module of the network; it has `0`, `1`, `2`, `3`, `4`, `5`"
    refused(sentence, "convert", "tests.cli.networks:ordinary", "--rules", rules)
    train = ["train", "--model", "tests.cli.networks:ordinary", "--convert", rules, "--out", tmp_path / "run"]
    refused(sentence, *train)
    assert not (tmp_path / "run" / "run.json").exists()
    shown = mfsim("convert", "tests.cli.networks:ordinary", "--rules", rules, "--input-shape", "8,8")
    assert shown.status == 2
    assert "`--input-shape` must be C,H,W such as 3,32,32, not '8,8'" in " ".join(
        shown.stderr.replace("│", " ").split()
    )


def test_a_run_whose_rules_were_damaged(rules, tmp_path):
    run = tmp_path / "run"
    train = ["train", "--model", "tests.cli.networks:ordinary", "--convert", rules, "--out", run, "--epochs", 1]
    assert mfsim(*train).status == 0
    content = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(content | {"convert": "mf"}))
    shown = mfsim("quantize", run, "--epochs", 0)
    assert shown.status == 2
    assert shown.stderr == "mfsim: `rules` must be a list of tables, each with `match` and `to`, not 'mf'\n"
