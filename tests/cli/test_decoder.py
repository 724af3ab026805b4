"""Commands on the files of a decoder: whole sequences of ids, and one step with several inputs."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.export import export_quantized
from mfsim.quant import decoder_step
from tests.cli.conftest import mfsim
from tests.quant.decoders import small_decoder, text_ids


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files of a decoder: whole.onnx, step.onnx, and ids for the former."""
    folder = tmp_path_factory.mktemp("decoder")
    network = small_decoder(attention="qkk")
    step = decoder_step(network)
    export_quantized(network, text_ids(), folder / "whole.onnx")
    export_quantized(step, step.model.example(), folder / "step.onnx")
    np.save(folder / "ids.npy", text_ids().numpy())
    return folder


def test_ids_are_measured(folder):
    shown = mfsim(
        "compile", folder / "whole.onnx", "--out", folder / "a.onnx", "--measure", folder / "ids.npy", "--json"
    )
    assert shown.status == 0, shown.stderr
    assert shown.json["inputs"] == ["ids"]
    (measured,) = shown.json["measured"]
    assert (measured["different"], measured["compared"] > 0) == (0, True)


def test_a_step_is_compiled_counted_and_its_words_listed(folder):
    shown = mfsim("compile", folder / "step.onnx", "--out", folder / "b.onnx", "--json")
    assert shown.status == 0, shown.stderr
    assert shown.json["inputs"] == ["ids", "position", "cache.0.key"]
    assert shown.json["outputs"] == ["logits", "row.0.key"]
    for file in ("step.onnx", "b.onnx"):
        counted = mfsim("count", folder / file, "--json")
        assert counted.status == 0, counted.stderr
        memory = counted.json["memory"]
        assert (memory["cache_bytes_per_token"], memory["cache_tokens"], memory["cache_bytes"]) == (16, 5, 80)
        widths = mfsim("widths", folder / file)
        assert widths.status == 0, widths.stderr
        assert "cache.0.key" in widths.stdout
    assert "caches: 16 bytes for each token, 80 for 5 tokens" in mfsim("count", folder / "b.onnx").stdout


def test_whole_sequences_need_no_cache(folder):
    counted = mfsim("count", folder / "whole.onnx")
    assert counted.status == 0, counted.stderr
    assert "caches" not in counted.stdout


def test_a_step_cannot_be_measured_on_one_array(folder):
    shown = mfsim("compile", folder / "step.onnx", "--out", folder / "c.onnx", "--measure", folder / "ids.npy")
    assert shown.status == 2
    assert "Traceback" not in shown.stderr
