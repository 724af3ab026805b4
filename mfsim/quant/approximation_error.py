"""`added_errors`: what the nonlinear layers of a quantized network add to the error, measured while it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim.analysis.added import AddedError, AddedErrors
from mfsim.quant.calibrate import nonlinear_layers
from mfsim.quant.network import QuantizedNetwork
from mfsim.quant.observer import as_inputs

BATCH = 64


class _Sums:
    """Sums of the errors of one layer over batches."""

    def __init__(self) -> None:
        self.values, self.differ, self.largest, self.total = 0, 0, 0.0, 0.0

    def add(self, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
        """Add a batch of inputs and results of a `QuantNonlinear`."""
        exact = layer.function(layer.input_quant(x)).double() / layer.y_scale
        codes = y.double() / layer.y_scale
        off = (codes - exact).abs()
        self.values += off.numel()
        self.differ += int((codes != exact.round()).sum())
        self.largest = max(self.largest, float(off.max()) if off.numel() else 0.0)
        self.total += float(off.sum())


@torch.no_grad()
def approximation_errors(
    network: QuantizedNetwork, images: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...]
) -> AddedErrors:
    """Return for each nonlinear layer of `network` how far its results are from its float function of the same codes.

    Parameters
    ----------
    network : QuantizedNetwork
        A layer of it that is given a mask when it runs (decoding with a cache) is left out.
    images : array or tensor, float32 [N, ...], or a tuple of them for several inputs
    """
    inputs = as_inputs(images, "the measurement of added errors")
    layers = nonlinear_layers(network.model)
    sums = {path: _Sums() for path, _ in layers}

    def hook(path: str) -> Any:
        def seen(layer: nn.Module, arguments: tuple[Any, ...], result: torch.Tensor) -> None:
            if len(arguments) == 1:
                sums[path].add(layer, arguments[0], result)

        return seen

    handles = [layer.register_forward_hook(hook(path)) for path, layer in layers]
    try:
        for start in range(0, len(inputs[0]), BATCH):
            network(*(x[start : start + BATCH] for x in inputs))
    finally:
        for handle in handles:
            handle.remove()
    rows = []
    for path, layer in layers:
        found = sums[path]
        if found.values:
            figures = (found.largest, found.total / found.values, found.differ / found.values)
            rows.append(AddedError(path, type(layer).__name__.removeprefix("Quant"), found.values, *figures))
    return AddedErrors(tuple(rows))
