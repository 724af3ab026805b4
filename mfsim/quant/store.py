"""Save and load quantized networks: one safetensors file with everything, its structure as JSON in the header.

The float network's class is not stored: `load` takes a float network of the same architecture and
puts the same layers at the same paths before it fills in parameters and scales, so that the outputs
are equal, bit for bit.
"""

from __future__ import annotations

import copy
import json
import os
import pathlib
from dataclasses import asdict
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import nn

from mfsim.errors import ModelError
from mfsim.files import write_whole
from mfsim.keywords import check_keywords
from mfsim.nn import Affine, AvgPool2d, GlobalAvgPool2d, Shift, ShiftBatchNorm1d
from mfsim.quant.calibrate import nonlinear_layers
from mfsim.quant.calibration import Calibration
from mfsim.quant.fold import BATCH_NORMS, as_pool, replace_module
from mfsim.quant.layers import QuantProduct
from mfsim.quant.module_mapping import Site, assemble
from mfsim.quant.network import QuantizedNetwork
from mfsim.quant.quantizers import ActivationQuant

VERSION = 2
"""Version of the structure in the header."""


@check_keywords
def save(network: QuantizedNetwork, path: str | os.PathLike[str]) -> pathlib.Path:
    """Write a quantized network to one safetensors file, whole or not at all.

    Parameters
    ----------
    network : QuantizedNetwork
    path : str or os.PathLike
        The file to write; one that is there is replaced.

    Returns
    -------
    pathlib.Path
        `path`.
    """
    structure = {
        "sites": [asdict(site) for site in network.sites],
        "shifts": {
            name: [list(m.exponents), m.axis] for name, m in network.model.named_modules() if isinstance(m, Shift)
        },
        "pools": [name for name, m in network.model.named_modules() if isinstance(m, (AvgPool2d, GlobalAvgPool2d))],
        "biases": [
            site.path
            for site in network.sites
            if isinstance(layer := network.model.get_submodule(site.path), QuantProduct) and layer.bias is not None
        ],
        "outputs": len(network.output_quant),
        "output_bits": network.output_quant[0].bits,
        "calibration": None if network.calibration is None else network.calibration.to_text(),
        "inputs": [[quantizer.bits, quantizer.signed] for quantizer in network.input_quant],
    }
    # One entry: safetensors writes several in random order, and equal networks should have equal files.
    header = {"mfsim": json.dumps({"version": VERSION, **structure}, sort_keys=True)}
    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    return write_whole(path, safetensors.torch.save(tensors, header))


@check_keywords
def load(path: str | os.PathLike[str], model: nn.Module) -> QuantizedNetwork:
    """Return the quantized network in a file that `save` wrote, in eval mode.

    Parameters
    ----------
    path : file
    model : module
        A float network of the architecture that was quantized, folded or not; left as it is, and
        its parameters are not used.

    Raises
    ------
    ModelError
        If the file is missing or damaged, or `model` is another architecture.
    """
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no mapping
    except (OSError, safetensors.SafetensorError) as error:
        raise ModelError(f"the quantized network `{path}` cannot be read: {error}") from error
    structure = _structure(header.get("mfsim", ""))
    if structure.get("version") != VERSION:
        raise ModelError(f"`{path}` is no quantized network of this version of mfsim")
    try:
        network = _rebuild(copy.deepcopy(model).eval(), structure)
        network.load_state_dict(tensors)
        text = structure["calibration"]
        network.calibration = None if text is None else Calibration.from_text(text)
        for _, module in nonlinear_layers(network.model):
            module.derive()
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ModelError(f"the quantized network `{path}` does not suit the model: {error}") from error
    return network.eval()


def _structure(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _rebuild(model: nn.Module, structure: dict[str, Any]) -> QuantizedNetwork:
    affine = {site["path"] for site in structure["sites"] if site["kind"] == "QuantShiftAffine"}
    for name, module in list(model.named_modules()):
        if isinstance(module, ShiftBatchNorm1d) and name in affine:
            model = replace_module(model, name, Affine(module.features, "power-of-two"))
        elif isinstance(module, (*BATCH_NORMS, ShiftBatchNorm1d)) and name not in structure["shifts"]:
            model = replace_module(model, name, nn.Identity())
    for name, (exponents, axis) in structure["shifts"].items():
        model = replace_module(model, name, Shift(exponents, axis))
    for name in structure["pools"]:
        model = replace_module(model, name, as_pool(name, model.get_submodule(name)))
    for name in structure["biases"]:
        layer: Any = model.get_submodule(name)
        layer.bias = nn.Parameter(torch.zeros(len(layer.weight)))
    sites = [Site(site["path"], site["kind"], site["options"]) for site in structure["sites"]]
    network = assemble(model, sites, structure["outputs"], structure["output_bits"])
    network.input_quant.extend(ActivationQuant(bits, signed) for bits, signed in structure["inputs"])
    return network
