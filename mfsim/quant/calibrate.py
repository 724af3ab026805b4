"""Calibration: what is kept of a float network's run, and the scales that follow from it, put into its quantized form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim.nn import WHTLayer
from mfsim.ops.elementwise.quant import QuantSoftThreshold
from mfsim.ops.fourier.quant import QuantFilterbankFFT
from mfsim.quant.calibration import Calibration, Subject
from mfsim.quant.choose_qparams import choose_qparams
from mfsim.quant.constants import check_product, check_threshold
from mfsim.quant.input_quantizer import readers
from mfsim.quant.layer_config import config_for
from mfsim.quant.layers import QuantProduct
from mfsim.quant.network import QuantizedNetwork
from mfsim.quant.nonlinear_base import QuantNonlinear
from mfsim.quant.observer import Observed
from mfsim.quant.qparams import QParamsByPath, Weights
from mfsim.quant.quantizers import stored_scale
from mfsim.quant.statistics import Statistics


def statistics(seen: Observed) -> Statistics:
    """Return the statistics of the values in `seen`.

    Parameters
    ----------
    seen : Observed
        At least one batch.

    Returns
    -------
    Statistics
    """
    return Statistics.of(seen.values, seen.low, seen.high)


def subject_of(
    path: str, layer: nn.Module, kind: str, around: WHTLayer | None, seen: Mapping[str, Observed]
) -> Subject:
    """Return what the words of a float layer depend on.

    Parameters
    ----------
    path : str
        Of the layer.
    layer : torch.nn.Module
        The float layer.
    kind : str
        Name of the quantized layer's class.
    around : WHTLayer or None
        The layer that encloses it.
    seen : mapping of str to Observed
        By path of what has a scale in the layer; at least one.

    Returns
    -------
    Subject
    """
    kept = {name.removeprefix(path).lstrip("."): statistics(values) for name, values in seen.items()}
    shape = next(iter(seen.values())).shape
    return Subject(path, kind, kept, config_for(kind).facts(layer, around, path, shape))


def with_readers(
    subjects: list[Subject], network: QuantizedNetwork, example: tuple[torch.Tensor, ...]
) -> list[Subject]:
    """Return `subjects`, the nonlinear layers among them with the paths of the quantizers that read their results.

    Parameters
    ----------
    subjects : list of Subject
    network : QuantizedNetwork
        Its layers are those of `subjects`.
    example : tuple of tensors, each of shape [N, ...]
        Inputs of the network, to run it once.

    Returns
    -------
    list of Subject
        In the order of `subjects`.
    """
    layers = {f"model.{path}".rstrip("."): path for path, _ in nonlinear_layers(network.model)}
    paths = {id(module): path.removeprefix("model.") for path, module in network.named_modules()}
    behind = readers(network, example, layers)
    found = {layers[name]: [paths[id(quantizer)] for quantizer in read] for name, read in behind.items()}
    return [
        replace(s, facts={**s.facts, "readers": found.get(s.path, [])}) if s.path in layers.values() else s
        for s in subjects
    ]


@torch.no_grad()
def calibrate(network: QuantizedNetwork, calibration: Calibration) -> None:
    """Fill in every scale of `network`, and keep in it what they were decided from.

    Parameters
    ----------
    network : QuantizedNetwork
        Changed in place.
    calibration : Calibration
        Of the layers of `network`.

    Raises
    ------
    RecipeError
        If a bias or threshold does not fit its word, or the weights of a layer all become 0.
    """
    arrays = {
        path: layer.weight.detach().numpy()
        for path, layer in network.model.named_modules()
        if isinstance(layer, (QuantFilterbankFFT, QuantProduct))
    }
    _fill_in(network, choose_qparams(calibration, calibration.recipe, Weights(arrays)))
    network.calibration = calibration
    check_constants(network)


def _fill_in(network: QuantizedNetwork, plan: QParamsByPath) -> None:
    """Set the scales of `network` to those of `plan`; grids of biases and accumulators follow from them."""
    for path, word in plan.items():
        layer, _, name = path.rpartition(".")
        scales = torch.from_numpy(np.asarray(np.ldexp(np.float32(1), word.exponents)))
        if name == "y_scale":
            network.model.get_submodule(layer).get_buffer(name).copy_(scales)
        elif name not in ("accumulator", "bias_quant"):
            outside = path.startswith(("input_quant.", "output_quant."))
            quantizer: Any = (network if outside else network.model).get_submodule(path)
            scale = stored_scale(quantizer)
            scale.copy_(scales.reshape(scale.shape))
    for _, module in nonlinear_layers(network.model):
        module.derive()


def keep_trained(network: QuantizedNetwork) -> None:
    """Keep the scales of trained weights in the calibration, as other ones would not suit them as well.

    Parameters
    ----------
    network : QuantizedNetwork
        Its `calibration` is replaced; without one nothing happens.
    """
    kept = network.calibration
    if kept is None:
        return
    subjects = []
    for subject in kept.subjects:
        layer, words = network.model.get_submodule(subject.path), kept.recipe.layer(subject.path)
        if isinstance(layer, QuantProduct):
            trained = {
                "words": [words.weight, words.per_channel, words.calibration],
                "exponents": _exponents(layer.weight_scale).tolist(),
            }
            subject = replace(subject, facts={**subject.facts, "trained": trained})
        subjects.append(subject)
    network.calibration = replace(kept, subjects=tuple(subjects))


def nonlinear_layers(model: nn.Module) -> list[tuple[str, QuantNonlinear]]:
    """Return the quantized nonlinear layers of a network.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    list of (str, QuantNonlinear)
        Path and module.
    """
    return [(path, module) for path, module in model.named_modules() if isinstance(module, QuantNonlinear)]


@torch.no_grad()
def check_constants(network: QuantizedNetwork) -> None:
    """Check that every bias and threshold fits its word, and that something is left of all weights.

    Parameters
    ----------
    network : QuantizedNetwork
        With its scales filled in.

    Raises
    ------
    RecipeError
        If a bias or threshold does not fit its word, or the weights of a layer all become 0.
    """
    for path, layer in network.model.named_modules():
        if isinstance(layer, QuantProduct):
            bias = None if layer.bias is None else layer.bias.detach().numpy()
            exponents = _exponents(layer.weight_scale), _exponents(layer.accumulator_scale())
            check_product(path, layer.weight.detach().numpy(), bias, *exponents, layer.words.bias)
        elif isinstance(layer, QuantSoftThreshold) and not layer.proved:
            quantizer = layer.threshold_quant
            check_threshold(path, layer.weight.detach().numpy(), _exponents(quantizer.scale), quantizer.bits)


def _exponents(scale: torch.Tensor) -> np.ndarray:
    """Return e of scales 2**e: of no axis, or of one."""
    exponents = np.frexp(scale.numpy().astype(np.float64))[1].astype(np.int64) - 1
    return exponents.reshape(-1) if exponents.ndim else exponents
