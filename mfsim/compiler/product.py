"""Products with constant weights: their grid, their bias, and the signs of a gain behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mfsim.compiler.bias import find_bias
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rescaling import with_offset
from mfsim.compiler.signs import output_signs
from mfsim.formats import Scale
from mfsim.ops.products import dense_scale
from mfsim.program import Tensor


def accumulator_scale(x: Tensor, w: Scale, joined: bool) -> Scale:
    """Return the accumulator's scale, along axis 0: the product of both, or the finer one (`joined`)."""
    if not joined:
        return dense_scale(x.scale, w, 0)
    ex = x.scale.exponent
    exponents = tuple(min(ex, ew) for ew in w.powers)
    return Scale(exponents, None if len(exponents) == 1 else 0)


def emit_product(
    lowering: Lowering,
    node: FileNode,
    op: str,
    x: Tensor,
    weights: Grid,
    shape: tuple[int, ...],
    attributes: Mapping[str, object],
    *,
    axes: tuple[int, int],
    bias_input: int | None = None,
) -> None:
    """Emit the product `op` of x and `weights`, with its bias.

    Parameters
    ----------
    shape : of the result
    axes : of the outputs, in the result and in the weights
    bias_input : the input that may hold the bias; None if only an Add behind may
    """
    axis, dense = axes[0], op in ("matmul", "conv2d")
    scale = accumulator_scale(x, weights.scale, not dense and not op.startswith("shift_"))
    bias, output = find_bias(lowering, node, bias_input, shape, axis, scale)
    signs = output_signs(lowering, output, shape[axis]) if dense else None
    codes, word = weights.codes, weights.format
    if signs is not None:
        codes = codes * signs.reshape([-1 if k == axes[1] else 1 for k in range(codes.ndim)])
        fits = not codes.size or word.holds(int(codes.min()), int(codes.max()))
        inputs = [x.name, lowering.constant(node.inputs[1], codes, weights.scale, word if fits else None)]
    else:
        inputs = [x.name, lowering.constant(node.inputs[1], codes, weights.scale, word)]
    if bias is not None and bias.values is not None:
        made = lowering.builder.tensors[lowering.inner(node, op, inputs, attributes)]
        values = bias.values if signs is None else bias.values * signs
        values = values.reshape(-1, *[1] * (len(shape) - 1 - axis))
        with_offset(lowering, replace(node, outputs=(output,)), made, values, f"the bias `{bias.name}`")
        return
    if bias is not None:
        start = bias.codes if signs is None else bias.codes * signs
        inputs.append(lowering.constant(bias.name, start, scale))
    lowering.emit(node, op, inputs, attributes, output=output)
