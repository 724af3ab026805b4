"""Layers of mfsim counted from shapes: the same numbers as their integer programs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mfsim import quant
from mfsim.analysis import count
from mfsim.compiler import compile_model
from mfsim.export.exporter import export_quantized
from mfsim.nn import models
from mfsim.op_counter import Input, count_module
from mfsim.quant import Recipe

COUNTED = ("addsub", "neg", "abs", "sign", "cmp", "select", "mul")
"""What shapes decide. Shifts (but those that stand for products) depend on scales, and so do the ends of clamps."""


def by_op(report):
    """Return {op: {primitive: count}} of what shapes decide."""
    found = {}
    for row in report.online:
        if row.primitive in COUNTED and row.op != "requantize":
            found.setdefault(row.op, {}).setdefault(row.primitive, 0)
            found[row.op][row.primitive] += row.count
    return found


@pytest.mark.parametrize("name", ["mf-mlp", "mf-cnn", "wht-cnn", "dense-cnn", "adder-cnn", "min-cnn", "shift-cnn"])
def test_a_float_network_counts_as_its_integer_program(name, tmp_path):
    images = np.random.default_rng(0).random((16, 1, 8, 8), dtype=np.float32)
    model = quant.fold(models.create(name, seed=0), torch.zeros(2, 1, 8, 8)).eval()
    network = quant.quantize(model, Recipe(), images)
    export_quantized(network, torch.from_numpy(images[:2]), tmp_path / "model.onnx")
    program = by_op(count(compile_model(tmp_path / "model.onnx")))
    shapes = by_op(count_module(lambda: model, [Input((1, 8, 8))]).report)
    assert shapes == program
