"""`mfsim compile` on files of other tools: what is approximated is printed, and measured on request."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.cli.conftest import mfsim
from tests.compiler.third_party import ThirdParty, reals


@pytest.fixture
def file(tmp_path):
    network = ThirdParty(x=(6,))
    w = network.weights(np.random.default_rng(1).normal(0, 0.4, (6, 4)), 0.11)
    y = network.quant(network.node("MatMul", network.quant("x", 0.031), w), 0.05, name="out")
    path = tmp_path / "network.onnx"
    onnx.save(network.model(y), path)
    np.save(tmp_path / "inputs.npy", reals((6,), step=0.031))
    return path


def test_approximations_are_printed_and_measured(file):
    shown = mfsim("compile", file, "--measure", file.with_name("inputs.npy"), "--json")
    assert shown.status == 0, shown.stderr
    (note,) = shown.json["approximations"]
    assert note.startswith("node `out` (qonnx.custom_op.general::Quant): the codes of `")
    (measured,) = shown.json["measured"]
    assert measured["compared"] == 256
    assert measured["greatest_lsb"] <= 1
    assert measured["different"] <= 1
    plain = mfsim("compile", file, "--measure", file.with_name("inputs.npy"))
    assert "Approximations" in plain.stdout
    assert "of 256 codes differ from ONNX Runtime" in plain.stdout


def test_scales_are_refused_on_request(file):
    shown = mfsim("compile", file, "--multiplier-bits", 0)
    assert shown.status == 2
    assert "the scale must be a power of two, not" in shown.stderr


def test_inputs_that_cannot_be_read(file):
    shown = mfsim("compile", file, "--measure", file)
    assert shown.status == 2
    assert "must be a .npy file of inputs" in shown.stderr


def test_a_program_with_multipliers_is_counted_and_read_again(file):
    assert mfsim("compile", file).status == 0
    shown = mfsim("count", file.with_name("integer.onnx"), "--strict-multiplication-free")
    assert shown.status != 0
    assert mfsim("widths", file.with_name("integer.onnx")).status == 0
