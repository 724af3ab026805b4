"""Clip, and Max and Min with a constant: bounds that lie on the scale of x."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import exact_grid
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.requantizing import rescaled
from mfsim.compiler.rescaling import GUARD_BITS, near_code
from mfsim.errors import FormatError, UnsupportedOpError
from mfsim.formats import Scale
from mfsim.program import Tensor


def clip(lowering: Lowering, node: FileNode) -> None:
    """Clip; an end that is left out is the end of the proved range."""
    if node in lowering.clips:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    x = lowering.tensor(node, 0)
    bounds = [lowering.optional_array(node, k + 1, f"`{what}`") for k, what in enumerate(("min", "max"))]
    _emit(lowering, node, x, bounds[0], bounds[1])


def extreme(lowering: Lowering, node: FileNode) -> None:
    """Max and Min of an activation and one constant."""
    if len(node.inputs) != 2 or lowering.is_activation(node, 0) == lowering.is_activation(node, 1):
        raise UnsupportedOpError("one activation and one constant are needed")
    k = 0 if lowering.is_activation(node, 0) else 1
    bound = lowering.array(node, 1 - k, "the bound")
    lo, hi = (bound, None) if node.op == "Max" else (None, bound)
    _emit(lowering, node, lowering.tensor(node, k), lo, hi)


def _emit(lowering: Lowering, node: FileNode, x: Tensor, lo: np.ndarray | None, hi: np.ndarray | None) -> None:
    if x.scale.axis is not None and not lowering.strict:
        finest = Scale.of_steps([min(x.scale.steps)]).moved(-GUARD_BITS)
        x = lowering.builder.tensors[rescaled(lowering, node, x, finest)]
    codes = {"lo": x.range.low, "hi": x.range.high}
    for name, bound in (("lo", lo), ("hi", hi)):
        if bound is None:
            continue
        if bound.size != 1:
            raise UnsupportedOpError(f"a bound must be one number, not of the shape {bound.shape}")
        if not lowering.strict:
            codes[name] = near_code(lowering, node, x, bound, "a bound")
            continue
        try:
            codes[name] = int(exact_grid(bound, x.scale.exponent).codes.reshape(-1)[0])
        except FormatError as error:
            raise FormatError(f"a bound must lie on the scale of x: {error}") from error
    if lo is None:
        codes["lo"] = min(codes.values())
    if hi is None:
        codes["hi"] = max(codes.values())
    lowering.emit(node, "clip", [x.name], codes)


RULES = {("", "Clip"): clip, ("", "Max"): extreme, ("", "Min"): extreme}
