"""What the demo expects, and that it notices what falls short."""

from __future__ import annotations

import json

import pytest

from mfsim.workflow.demo import Expected, run_demo, shortfalls
from mfsim.workflow.settings import Settings
from tests.analysis.programs import mixed, residual
from tests.report.networks import result

GOOD = {"float": 0.98, "quantized": 0.98, "integer": 0.975}


def test_nothing_falls_short():
    assert shortfalls(Expected("free", 0.97), result("free", residual(), accuracy=GOOD), []) == []
    assert shortfalls(Expected("dense", 0.97, multiplies=True), result("dense", mixed(), accuracy=GOOD), []) == []


@pytest.mark.parametrize(
    ("expected", "network", "reasons", "sentence"),
    [
        (
            Expected("free", 0.99),
            result("free", residual(), accuracy=GOOD),
            [],
            "free reaches 98.00% in float, and 99% is expected",
        ),
        (
            Expected("free", 0.97),
            result("free", residual(), accuracy=GOOD | {"integer": 0.96}),
            [],
            "free reaches 96.00% in integers, more than 1% below float",
        ),
        (
            Expected("free", 0.97),
            result("free", residual(), accuracy=GOOD, mismatches=2),
            [],
            "free: 2 of 360 codes differ in simulator = integer.onnx",
        ),
        (
            Expected("free", 0.97),
            result("free", residual(), accuracy=GOOD),
            ["a limit was passed"],
            "free: a limit was passed",
        ),
        (
            Expected("free", 0.97, multiplies=True),
            result("free", residual(), accuracy=GOOD),
            [],
            "free should multiply, and no multiplication was counted",
        ),
    ],
)
def test_each_shortfall_is_a_sentence(expected, network, reasons, sentence):
    assert shortfalls(expected, network, reasons) == [sentence]


def test_a_multiplication_is_named():
    (found,) = shortfalls(Expected("dense", 0.97), result("dense", mixed(), accuracy=GOOD), [])
    assert found.startswith("dense is not multiplication-free: node `")


def test_a_short_demo_says_what_it_missed(tmp_path):
    """One epoch is not enough for the accuracy; everything else must hold all the same."""
    networks = (Expected("mf-mlp", 1.0), Expected("dense-cnn", 0.0, multiplies=True))
    seen = []
    demo = run_demo(
        tmp_path / "demo",
        Settings(epochs=1, quantized_epochs=1, reference_samples=2),
        networks=networks,
        finished=lambda network: seen.append(network.name),
    )
    assert seen == ["mf-mlp", "dense-cnn"]
    assert any(sentence.startswith("mf-mlp reaches ") for sentence in demo.shortfalls)
    assert all(" reaches " in sentence for sentence in demo.shortfalls)
    content = json.loads((tmp_path / "demo" / "report.json").read_text())
    for network, expected in zip(content["networks"], networks, strict=True):
        assert network["name"] == expected.name
        assert set(network["accuracy"]) == {"float", "quantized", "integer"}
        assert all(pair["compared"] > 0 and pair["mismatches"] == 0 for pair in network["parity"])
        assert (network["operations"]["mul"] > 0) is expected.multiplies
        assert bool(network["multiplications"]) is expected.multiplies
    assert demo.page.is_file()
