"""Tell apart, among samples that differ, those whose difference is a sign that flipped within rounding of zero.

An MF product jumps where an operand passes zero. Torch and ONNX Runtime sum in different orders, so an
operand that is zero up to rounding may have another sign in each, and all that follows differs for a
reason that no exporter can cure. The operands of every MF node are compared in graph order, with a
float64 run of the torch model as judge of what is within rounding: in the first layer whose signs
differ, each of those operands must be at most `NEAR_ZERO` of the layer's largest one, over these
samples and the first `REFERENCE` of all.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import onnx
import torch
from torch import nn

from mfsim import ops
from mfsim.export.layers import layer_of, with_outputs
from mfsim.export.runtime import run, session
from mfsim.ops.traits import Trait

NEAR_ZERO = 1e-5

REFERENCE = 32


def sign_ties(
    model: onnx.ModelProto, module: nn.Module, inputs: tuple[torch.Tensor, ...], samples: Sequence[int], optimise: bool
) -> tuple[int, ...]:
    """Return those of `samples` whose first sign difference lies within rounding of zero.

    Parameters
    ----------
    model : float.onnx
    module : the float torch model
    inputs : tensors [N, ...]
    samples : ints
        Numbers of samples that differ.
    optimise : bool
        The optimisation level of ONNX Runtime at which they differ.
    """
    nodes = [
        (layer_of(node), node.input[0]) for node in model.graph.node if node.op_type in ops.op_types(Trait.MF_TERMS)
    ]
    if not samples or not nodes:
        return ()
    chosen = tuple(torch.cat([x[list(samples)], x[:REFERENCE]]) for x in inputs)
    runtime = session(with_outputs(model, [name for _, name in nodes if name not in _inputs(model)]), optimise)
    values = run(runtime, dict(zip(_inputs(model), (x.numpy() for x in chosen), strict=True)))
    values |= dict(zip(_inputs(model), (x.numpy() for x in chosen), strict=True))
    layers = [layer for layer, _ in nodes]
    single = _operands(module, chosen, layers)
    double = _operands(copy.deepcopy(module).double(), tuple(x.double() for x in chosen), layers)
    operands = [(values[name], single[layer], double[layer]) for layer, name in nodes if layer in single]
    return tuple(sample for k, sample in enumerate(samples) if _is_tie(operands, k))


def _inputs(model: onnx.ModelProto) -> list[str]:
    return [value.name for value in model.graph.input]


def _is_tie(operands: list[tuple[np.ndarray, np.ndarray, np.ndarray]], sample: int) -> bool:
    for runtime, single, double in operands:
        differ = np.sign(runtime[sample]) != np.sign(single[sample])
        if differ.any():
            return bool((np.abs(double[sample][differ]) <= NEAR_ZERO * np.abs(double).max()).all())
    return False


@torch.no_grad()
def _operands(module: nn.Module, inputs: tuple[torch.Tensor, ...], layers: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the first input of each of `layers` that is a module of `module`."""
    module = module.eval()
    seen: dict[str, np.ndarray] = {}
    modules = dict(module.named_modules())
    hooks = []
    for layer in layers:
        if layer in modules:

            def watch(module: nn.Module, arguments: tuple[torch.Tensor, ...], layer: str = layer) -> None:
                seen[layer] = arguments[0].numpy()

            hooks.append(modules[layer].register_forward_pre_hook(watch))
    try:
        module(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return seen
