"""From a torch module to a raw ONNX model: torch's exporter, with Brevitas' quantizers as QONNX `Quant` nodes.

Brevitas' own `export_qonnx` insists on the package onnxoptimizer, which it does not use here; what it
does otherwise is done below: handlers for every quantizer, one eager pass, export mode, torch's
exporter. Nothing is optimised there (`optimize=False`): it would merge equal quantizers and share
equal numbers between them, and every quantizer has to keep its own node, scale and bit width.
The module is a deep copy, because a failed export leaves it in export mode.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import warnings
from collections.abc import Iterator

import onnx
import torch
from torch import nn

from mfsim.errors import ExportError, MfsimError
from mfsim.nn.family import settle
from mfsim.ops.model_bodies import OPSET
from mfsim.quant import QuantizedNetwork
from mfsim.quant.observer import as_outputs
from mfsim.quant.quantizers import AccumulatorBiasHandler, ExportContext, QONNXDynamoManager

BATCH = "batch"
"""Name of the batch axis in the file."""


class _Manager(QONNXDynamoManager):
    handlers = [*QONNXDynamoManager.handlers, AccumulatorBiasHandler]  # noqa: RUF012, as in Brevitas


def _input_names(model: nn.Module, count: int) -> list[str]:
    """Return the network's `input_names`, if it has them, or the names of the arguments of its `forward`.

    Behind a `*arguments` these are numbered.
    """
    inner = model.model if isinstance(model, QuantizedNetwork) else model
    stated = getattr(inner, "input_names", None)
    if stated is not None:
        return list(stated)
    names = []
    for parameter in inspect.signature(inner.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            break
        names.append(parameter.name)
    return names[:count] + [f"{names[-1] if names else 'input'}_{k}" for k in range(len(names), count)]


def _output_names(model: nn.Module, count: int) -> list[str]:
    """Return the network's `output_names`, if it has them; else one is called output, several are numbered."""
    inner = model.model if isinstance(model, QuantizedNetwork) else model
    stated = getattr(inner, "output_names", None)
    if stated is not None:
        return list(stated)
    return ["output"] if count == 1 else [f"output_{k}" for k in range(count)]


def trace(model: nn.Module, example: tuple[torch.Tensor, ...]) -> onnx.ModelProto:
    """Return the raw ONNX model of `model`, axis 0 of every input and output being the batch.

    Parameters
    ----------
    model : module
        Left as it is.
    example : tuple of float32 tensors
        At least two samples: torch takes a batch of one for a constant.

    Raises
    ------
    ExportError
        If the module cannot be run on the example, or torch cannot trace it.
    """
    model = settle(copy.deepcopy(model).eval())
    with torch.no_grad():
        try:
            outputs = as_outputs(model(*example))
        except MfsimError:
            raise
        except Exception as error:
            shapes = ", ".join(str(tuple(x.shape)) for x in example)
            raise ExportError(f"the model cannot run on an input of shape {shapes}: {_first_line(error)}") from error
        names = _output_names(model, len(outputs))
        with _quiet(), ExportContext(_Manager):
            model.apply(_Manager.set_export_handler)
            _Manager._cache_inp_out(model, *example)
            _Manager.set_export_mode(model, enabled=True)
            try:
                program = torch.onnx.export(
                    model,
                    example,
                    dynamo=True,
                    optimize=False,
                    opset_version=OPSET,
                    external_data=False,
                    verbose=False,
                    input_names=_input_names(model, len(example)),
                    output_names=names,
                    dynamic_shapes=_dynamic_shapes(model, len(example)),
                )
            except MfsimError:
                raise
            except Exception as error:
                raise ExportError(f"torch cannot export the model: {_reason(error)}") from error
    assert program is not None, "without a file name torch returns the program"
    for value in program.model_proto.graph.input:
        if not value.type.tensor_type.shape.dim[0].dim_param:
            raise ExportError(
                f"the batch of input `{value.name}` became a constant; in `forward`, write x.shape[0] in place of len(x)"
            )
    return program.model_proto


def _dynamic_shapes(model: nn.Module, count: int) -> tuple[object, ...]:
    batch = torch.export.Dim(BATCH)
    axes = tuple({0: batch} for _ in range(count))
    for place, parameter in enumerate(inspect.signature(model.forward).parameters.values()):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return (*axes[:place], axes[place:])
    return axes


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what torch and Brevitas say about packages that are not there and internals that will change."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "brevitas")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """Return the innermost cause that torch's exporter wrapped."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
