"""`check`: exported files in ONNX Runtime against the torch models that they came from.

float.onnx is held against the float torch model up to float32 rounding, and sign ties are listed.
model.onnx is held against the quantized torch model in every output code, optimisations on and off.
Between model.onnx and float.onnx the error of each output and of what each layer gives is measured.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

from mfsim.analysis.error import ErrorSums
from mfsim.compiler.frontend.reader import read_model
from mfsim.errors import DataError, ModelError
from mfsim.export.check_report import CheckReport, CodeParity, FloatParity, LayerErrors, Limits, default_limits, reasons
from mfsim.export.layers import layer_values, with_outputs
from mfsim.export.near_zero_signs import sign_ties
from mfsim.export.runtime import run, session
from mfsim.keywords import check_keywords
from mfsim.quant import QuantizedNetwork
from mfsim.quant.observer import as_outputs, as_tensors

Source = str | os.PathLike[str] | onnx.ModelProto


@check_keywords
def check(
    float_model: nn.Module,
    quantized: QuantizedNetwork,
    float_source: Source,
    model_source: Source,
    images: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...],
    *,
    limits: Limits | None = None,
    batch_size: int = 128,
    progress: Callable[[str, int, int], None] | None = None,
) -> CheckReport:
    """Compare both files with their torch models, sample by sample.

    Parameters
    ----------
    float_model : module
        What `float_source` was exported from. For errors by layer it should be the folded network,
        whose layers mean the same as those of the quantized one.
    quantized : QuantizedNetwork
        What `model_source` was exported from.
    float_source, model_source : file or ModelProto
    images : array or tensor, float32 [N, ...], or a tuple of them for several inputs; int64 for ids
    limits : Limits, optional
        By default those of `default_limits` for the ops of `float_source`.
    batch_size : int
        At least 1.
    progress : callable
        Called with (what is compared, samples done, samples in all).

    Raises
    ------
    DataError
        If there are no samples.
    ModelError
        If a file is missing or damaged, or does not have the outputs of its model.
    """
    inputs = as_tensors(images)
    count = len(inputs[0])
    if not count:
        raise DataError("a check needs at least one sample")
    report = progress or (lambda what, done, total: None)
    floats, model = read_model(float_source), read_model(model_source)
    limits = limits or default_limits(node.op_type for node in floats.graph.node)
    expected = _torch_outputs(float_model, inputs, batch_size)
    expected_codes = _torch_outputs(quantized, inputs, batch_size)
    float_parities, code_parities = [], []
    for number, optimise in enumerate((True, False)):
        report("float.onnx", number * count, 2 * count)
        float_parities.append(_float_parity(floats, float_model, inputs, expected, limits, optimise, batch_size))
        report("model.onnx", number * count, 2 * count)
        code_parities.append(_code_parity(model, quantized, inputs, expected_codes, optimise, batch_size))
    outputs, layers = _errors(floats, model, inputs, batch_size, report)
    result = CheckReport(count, limits, tuple(float_parities), tuple(code_parities), outputs, layers)
    return replace(result, reasons=reasons(result))


def check_codes(
    quantized: QuantizedNetwork,
    model_source: Source,
    images: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...],
    *,
    limits: Limits | None = None,
    batch_size: int = 128,
    progress: Callable[[str, int, int], None] | None = None,
) -> CheckReport:
    """Compare a quantized file with its torch model alone, in every output code.

    Parameters
    ----------
    quantized : QuantizedNetwork
        What `model_source` was exported from.
    model_source : file or ModelProto
    images, limits, batch_size, progress
        As in `check`; by default limits are those of `Limits`.

    Returns
    -------
    CheckReport
        Without comparisons of a float network.

    Raises
    ------
    DataError
        If there are no samples.
    ModelError
        If the file is missing or damaged, or does not have the outputs of its model.
    """
    inputs = as_tensors(images)
    count = len(inputs[0])
    if not count:
        raise DataError("a check needs at least one sample")
    report = progress or (lambda what, done, total: None)
    model = read_model(model_source)
    expected = _torch_outputs(quantized, inputs, batch_size)
    parities = []
    for number, optimise in enumerate((True, False)):
        report("model.onnx", number * count, 2 * count)
        parities.append(_code_parity(model, quantized, inputs, expected, optimise, batch_size))
    result = CheckReport(count, limits or Limits(), (), tuple(parities), (), ())
    return replace(result, reasons=reasons(result))


@torch.no_grad()
def _torch_outputs(model: nn.Module, inputs: tuple[torch.Tensor, ...], batch_size: int) -> list[np.ndarray]:
    training = model.training
    model.eval()
    try:
        parts = [
            as_outputs(model(*(x[start : start + batch_size] for x in inputs)))
            for start in range(0, len(inputs[0]), batch_size)
        ]
    finally:
        model.train(training)
    return [torch.cat(part).numpy() for part in zip(*parts, strict=True)]


def _runtime_outputs(
    model: onnx.ModelProto,
    inputs: tuple[torch.Tensor, ...],
    expected: list[np.ndarray],
    optimise: bool,
    batch_size: int,
) -> list[np.ndarray]:
    names = [value.name for value in model.graph.input]
    if len(names) != len(inputs):
        raise ModelError(f"the file has {len(names)} inputs, and {len(inputs)} are given")
    results = run(
        session(model, optimise), dict(zip(names, (x.numpy() for x in inputs), strict=True)), batch_size=batch_size
    )
    found = list(results.values())
    if [y.shape for y in found] != [y.shape for y in expected]:
        raise ModelError(
            f"the file has outputs of the shapes {[y.shape for y in found]}, and its torch model {[y.shape for y in expected]}"
        )
    return found


def _float_parity(
    model: onnx.ModelProto,
    module: nn.Module,
    inputs: tuple[torch.Tensor, ...],
    expected: list[np.ndarray],
    limits: Limits,
    optimise: bool,
    batch_size: int,
) -> FloatParity:
    found = _runtime_outputs(model, inputs, expected, optimise, batch_size)
    worst = np.zeros(len(inputs[0]))
    for values, wanted in zip(found, expected, strict=True):
        largest = float(np.abs(wanted).max()) or 1.0
        difference = np.abs(values.astype(np.float64) - wanted).reshape(len(wanted), -1).max(axis=1)
        # NaN in either would compare as no difference; it counts as an infinite one.
        worst = np.maximum(worst, np.nan_to_num(difference / largest, nan=np.inf, posinf=np.inf))
    beyond = [int(k) for k in np.flatnonzero(worst > limits.float_difference)]
    ties = sign_ties(model, module, inputs, beyond, optimise)
    return FloatParity(optimise, len(worst), float(worst.max()), ties, tuple(k for k in beyond if k not in ties))


def _code_parity(
    model: onnx.ModelProto,
    quantized: QuantizedNetwork,
    inputs: tuple[torch.Tensor, ...],
    expected: list[np.ndarray],
    optimise: bool,
    batch_size: int,
) -> CodeParity:
    found = _runtime_outputs(model, inputs, expected, optimise, batch_size)
    compared = mismatches = worst = 0
    quantizer: Any
    for values, wanted, quantizer in zip(found, expected, quantized.output_quant, strict=True):
        difference = np.abs(values.astype(np.float64) - wanted) / float(quantizer.scale)
        compared += difference.size
        mismatches += int(np.count_nonzero(~(difference == 0)))
        worst = max(worst, round(float(np.nan_to_num(difference, nan=2.0**31).max())))
    return CodeParity(optimise, compared, mismatches, worst)


def _errors(
    floats: onnx.ModelProto,
    model: onnx.ModelProto,
    inputs: tuple[torch.Tensor, ...],
    batch_size: int,
    report: Callable[[str, int, int], None],
) -> tuple[tuple[LayerErrors, ...], tuple[LayerErrors, ...]]:
    """Return the errors of the outputs and of the layers that both files have."""
    reference, values = layer_values(floats), layer_values(model)
    layers = [layer for layer in values if layer in reference]
    outputs = [(a.name, b.name) for a, b in zip(floats.graph.output, model.graph.output, strict=True)]
    left = session(with_outputs(floats, [reference[layer] for layer in layers]))
    right = session(with_outputs(model, [values[layer] for layer in layers]))
    pairs = [(layer, reference[layer], values[layer]) for layer in layers]
    output_sums = {b: ErrorSums() for _, b in outputs}
    layer_sums = {layer: ErrorSums() for layer in layers}
    count = len(inputs[0])
    for start in range(0, count, batch_size):
        batch = [x[start : start + batch_size].numpy() for x in inputs]
        a = run(left, dict(zip((v.name for v in floats.graph.input), batch, strict=True)))
        b = run(right, dict(zip((v.name for v in model.graph.input), batch, strict=True)))
        for float_name, name in outputs:
            output_sums[name].add(a[float_name], b[name], f"output `{name}`")
        for layer, float_name, name in pairs:
            if a[float_name].shape == b[name].shape:
                layer_sums[layer].add(a[float_name], b[name], f"layer `{layer}`")
        report("layers", min(start + batch_size, count), count)
    return tuple(LayerErrors(name, sums.figures()) for name, sums in output_sums.items()), tuple(
        LayerErrors(layer, sums.figures()) for layer, sums in layer_sums.items() if sums.count
    )
