"""`export_float` and `export_quantized`: one self-contained ONNX file from a torch network.

The file holds standard ops, ops of `org.mfsim` and, when quantized, QONNX's `Quant`; the last two come
with bodies in standard ops, so that stock ONNX Runtime runs the file and `onnx.checker` accepts it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import onnx
import torch
from brevitas.proxy.quant_proxy import QuantProxyFromInjector
from onnx import helper
from torch import nn

from mfsim import __version__
from mfsim.compiler.frontend.graph import CONSTANT_KEY
from mfsim.compiler.lower.kv_cache import PREFIX
from mfsim.errors import ExportError
from mfsim.export.cleanup import clean_up
from mfsim.export.exactness import check_exact
from mfsim.export.naming import LAYER_KEY, set_names
from mfsim.export.trace import trace
from mfsim.export.verify_export import check_numbers, check_quantized
from mfsim.export.words import in_order, set_calibration
from mfsim.ir.program import CACHE, POSITION
from mfsim.keywords import check_keywords
from mfsim.ops.model_bodies import set_bodies
from mfsim.quant import QuantizedNetwork
from mfsim.quant.decoding import DecoderStep
from mfsim.quant.fold import check_finite
from mfsim.serialize.files import write_model

IR_VERSION = 10
ROUNDING_MODES = {"ROUND", "FLOOR", "CEIL", "ROUND_TO_ZERO"}
"""What Brevitas' `rounding_mode` may say, in the words of QONNX."""


@check_keywords
def float_model(model: nn.Module, example: torch.Tensor | tuple[torch.Tensor, ...]) -> onnx.ModelProto:
    """Return a float network as an ONNX model; see `export_float`.

    Parameters
    ----------
    model : torch.nn.Module
        In whatever mode; a copy in eval mode is exported.
    example : tensor or tuple of tensors, float32 [N, ...], or int64 for ids
        As in `export_float`.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        If the model cannot be exported.
    ModelError
        If a parameter is NaN or infinite.
    """
    check_finite(model)
    proto = trace(model, _samples(example))
    clean_up(proto)
    set_names(proto, isinstance(model, QuantizedNetwork))
    check_numbers(proto)
    return _finish(proto, "float", {})


@check_keywords
def quantized_model(
    model: nn.Module, example: torch.Tensor | tuple[torch.Tensor, ...], *, allow_inexact: bool = False
) -> onnx.ModelProto:
    """Return a quantized network as an ONNX model; see `export_quantized`.

    Parameters
    ----------
    model : QuantizedNetwork, or a network of Brevitas layers in the dialect
    example : tensor or tuple of tensors, float32 [N, ...], or int64 for ids
        As in `export_float`.
    allow_inexact : bool
        As in `export_quantized`.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        If something would be lost, or a sum may be inexact in float32.
    ModelError
        If a parameter is NaN or infinite.
    MfsimError
        If the model has no integer program, unless `allow_inexact`.
    """
    check_finite(model)
    proto = trace(model, _samples(example))
    clean_up(proto)
    quantizers = set_names(proto, isinstance(model, QuantizedNetwork))
    check_numbers(proto)
    check_quantized(proto, model, LAYER_KEY)
    _set_rounding(proto, model)
    _mark_fixed(proto, model, quantizers)
    in_order(proto.graph)
    proto = _finish(proto, "quantized", _caches(model))
    if isinstance(model, QuantizedNetwork) and model.calibration is not None:
        set_calibration(proto, model.calibration, quantizers)
    if not allow_inexact:
        check_exact(proto)
    return proto


def is_quantized(model: nn.Module) -> bool:
    """Whether `model` is a `QuantizedNetwork`, or has quantizers of Brevitas.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    bool
    """
    return isinstance(model, QuantizedNetwork) or any(isinstance(m, QuantProxyFromInjector) for m in model.modules())


@check_keywords
def export_float(
    model: nn.Module, example: torch.Tensor | tuple[torch.Tensor, ...], path: str | os.PathLike[str]
) -> onnx.ModelProto:
    """Write a float network to `path` and return it.

    Parameters
    ----------
    model : module
        In whatever mode; a copy in eval mode is exported.
    example : tensor or tuple of tensors, float32 [N, ...], or int64 for ids
        Inputs of the right shape; axis 0 becomes the free batch axis.
    path : file
        Written whole or not at all.

    Raises
    ------
    ExportError
        If the model cannot be exported, or the file cannot be written.
    ModelError
        If a parameter is NaN or infinite.
    """
    proto = float_model(model, example)
    write_model(proto, path)
    return proto


@check_keywords
def export_quantized(
    model: nn.Module,
    example: torch.Tensor | tuple[torch.Tensor, ...],
    path: str | os.PathLike[str],
    *,
    allow_inexact: bool = False,
) -> onnx.ModelProto:
    """Write a quantized network to `path` and return it.

    Parameters
    ----------
    model : QuantizedNetwork, or a network of Brevitas layers in the dialect
    example, path
        As for `export_float`.
    allow_inexact : bool
        Write the file even where a sum may pass 2**24, up to which float32 is exact.

    Raises
    ------
    ExportError
        If something would be lost (see `mfsim.export.verify_export`), a sum may be inexact in float32, or
        the file cannot be written.
    MfsimError
        If the file has no integer program.
    """
    proto = quantized_model(model, example, allow_inexact=allow_inexact)
    write_model(proto, path)
    return proto


def _samples(example: torch.Tensor | tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Return inputs of at least two samples: torch takes a batch of one for a constant."""
    inputs = tuple(torch.as_tensor(x) for x in (example if isinstance(example, tuple) else (example,)))
    for x in inputs:
        if x.ndim < 1 or not len(x) or not (x.is_floating_point() or x.dtype == torch.int64):
            raise ExportError(
                f"an example must be a float tensor with at least one sample, or int64 for ids, not {x.dtype} {tuple(x.shape)}"
            )
    pairs = [torch.cat([x[:1], x[:1]]) for x in inputs]
    return tuple(x.float() if x.is_floating_point() else x for x in pairs)


def _set_rounding(proto: onnx.ModelProto, model: nn.Module) -> None:
    """Write the rounding of each quantizer's module; Brevitas writes ROUND for every weight."""
    modules = _modules(model)
    for node in proto.graph.node:
        proxy = modules.get(node.name) if node.op_type == "Quant" else None
        mode = getattr(getattr(proxy, "act_quant", proxy), "rounding_mode", None)
        if mode is None:
            continue
        if mode not in ROUNDING_MODES:
            raise ExportError(f"quantizer `{node.name}` rounds in the mode {mode}, which QONNX does not know")
        for attribute in node.attribute:
            if attribute.name == "rounding_mode":
                attribute.s = mode.encode()


def _mark_fixed(proto: onnx.ModelProto, model: nn.Module, quantizers: Mapping[str, Sequence[str]]) -> None:
    """Mark the quantizers whose constants the architecture gives, as their layers say in `fixed`."""
    modules, nodes = _modules(model), {node.name: node for node in proto.graph.node}
    for path, names in quantizers.items():
        layer, _, quantizer = path.rpartition(".")
        if quantizer in getattr(modules.get(layer), "fixed", ()):
            for name in names:
                nodes[name].metadata_props.add(key=CONSTANT_KEY, value="fixed")


def _modules(model: nn.Module) -> dict[str, nn.Module]:
    """Return the modules of the network by path, as the file names them."""
    return dict((model.model if isinstance(model, QuantizedNetwork) else model).named_modules())


def _caches(model: nn.Module) -> dict[str, str]:
    """Return what the metadata says of the caches of a `DecoderStep`."""
    inner = model.model if isinstance(model, QuantizedNetwork) else model
    if not isinstance(inner, DecoderStep):
        return {}
    rows = {f"{PREFIX}{CACHE}{name}": row for name, row in inner.caches.items()}
    return rows | {f"{PREFIX}{POSITION}": inner.position_name}


def _finish(proto: onnx.ModelProto, kind: str, caches: dict[str, str]) -> onnx.ModelProto:
    """Return the complete model: function bodies of the ops in use, versions, metadata; checked."""
    inputs = ",".join(value.name for value in proto.graph.input)
    model = helper.make_model(proto.graph, producer_name="mfsim", producer_version=__version__, ir_version=IR_VERSION)
    set_bodies(model)
    properties = {"mfsim.inputs": inputs, "mfsim.kind": kind, "mfsim.version": __version__}
    helper.set_model_props(model, dict(sorted((properties | caches).items())))
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ExportError(f"onnx.checker refuses the exported model: {str(error).splitlines()[0]}") from error
    return model
