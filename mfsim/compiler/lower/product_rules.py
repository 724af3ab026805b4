"""Rules of matrix products and convolutions, whatever takes the place of the multiplication.

Weights are a quantized constant, [K, O] or [O, C / groups, kh, kw], or a second activation where the product takes one.
The bias is the third input of a standard op, else an Add of a constant right behind.
"""

from __future__ import annotations

from collections.abc import Callable

from mfsim import ops
from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.grid import Grid
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import plane, window
from mfsim.compiler.lower.products import emit_product
from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.ir.program import Tensor

Rule = Callable[[Lowering, FileNode], None]


def stated_attributes(op: str, node: FileNode) -> dict[str, object]:
    """Return the attributes of `op` that the node states, those of its geometry left out.

    Parameters
    ----------
    op : str
        Name of a registered op.
    node : FileNode
        Node of the file.

    Returns
    -------
    dict of str to object
        Attributes by name.
    """
    names = {attribute.name for attribute in ops.get(op).attributes if not attribute.derived}
    return {name: node.attributes[name] for name in names & set(node.attributes) - {"strides", "pads", "dilations"}}


def product_shape(x: Tensor, weights: Grid) -> tuple[int, ...]:
    """Return the output shape of a product with constant weights.

    Parameters
    ----------
    x : Tensor
        Activation, shape (1, ..., K).
    weights : Grid
        Codes of shape (K, O).

    Returns
    -------
    tuple of int
        (1, ..., O).

    Raises
    ------
    ShapeError
        If the shapes do not suit each other.
    UnsupportedOpError
        If the weights have one scale for each input.
    """
    if weights.codes.ndim != 2 or x.shape[-1] != weights.codes.shape[0]:
        raise ShapeError(
            f"x must end in K and constant weights must be [K, O], not {x.shape} and {weights.codes.shape}"
        )
    if weights.scale.axis == 0:
        raise UnsupportedOpError("the weights must have one scale, or one for each output, not for each input")
    return (*x.shape[:-1], weights.codes.shape[1])


def matmul_rule(op: str) -> Rule:
    """Return the rule of a matrix product that becomes `op`.

    Parameters
    ----------
    op : str
        Name of a registered matrix product.

    Returns
    -------
    Rule
        Function of (lowering, node) that adds it to the program.
    """

    def matmul(lowering: Lowering, node: FileNode) -> None:
        attributes = stated_attributes(op, node)
        x = lowering.tensor(node, 0)
        if lowering.is_activation(node, 1):
            lowering.emit(node, op, [x.name, lowering.tensor(node, 1).name], attributes)
            return
        weights = lowering.grid(node, 1, "the weights")
        shape = product_shape(x, weights)
        if any(attribute.name == "constant" for attribute in ops.get(op).attributes):
            attributes["constant"] = weights.constant
        emit_product(lowering, node, op, x, weights, shape, attributes, axes=(len(shape) - 1, 1))

    return matmul


def conv_rule(op: str) -> Rule:
    """Return the rule of a 2-D convolution that becomes `op`.

    Parameters
    ----------
    op : str
        Name of a registered convolution.

    Returns
    -------
    Rule
        Function of (lowering, node) that adds it to the program.
    """

    def conv(lowering: Lowering, node: FileNode) -> None:
        x = lowering.tensor(node, 0)
        weights = lowering.grid(node, 1, "the weights")
        if len(x.shape) != 4 or weights.codes.ndim != 4:
            raise ShapeError(f"x and the weights must have 4 axes, not {len(x.shape)} and {weights.codes.ndim}")
        if weights.scale.axis not in (None, 0):
            raise UnsupportedOpError("the weights must have one scale, or one for each output channel")
        geometry = window(node, weights.codes.shape[2:], None if lowering.strict else x.shape[2:])
        kernel = geometry.pop("kernel")
        outputs = weights.codes.shape[0]
        shape = (1, outputs, *plane(x.shape[2:], kernel, geometry))
        attributes = geometry | {"groups": node.integer("group", 1)} | stated_attributes(op, node)
        emit_product(lowering, node, op, x, weights, shape, attributes, axes=(1, 0), bias_input=2)

    return conv
