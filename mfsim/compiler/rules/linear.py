"""QuantizeLinear and DequantizeLinear: the integers between them are codes counted from their zero point.

A DequantizeLinear right behind its QuantizeLinear costs nothing; one with another zero point subtracts
the difference, and one with another scale relabels the grid.
"""

from __future__ import annotations

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Coded, Lowering
from mfsim.compiler.requantizing import clipped, requantized


def quantize_linear(lowering: Lowering, node: FileNode) -> None:
    """Requantize, together with a Clip of the codes behind it."""
    if node in lowering.input_quants:
        value = lowering.values[node.inputs[0]]
        assert isinstance(value, str)
        lowering.alias(node, Coded(value, lowering.input_quants[node]))
        return
    x = lowering.tensor(node, 0)
    quantizer = clipped(lowering, node, lowering.linear(node, len(x.shape)))
    codes = requantized(lowering, node, x, quantizer, _dequantized_name(lowering, node))
    lowering.values[node.outputs[0]] = Coded(codes, quantizer.one_zero_point)


def _dequantized_name(lowering: Lowering, node: FileNode) -> str | None:
    """Return the value of the DequantizeLinear that alone reads the codes and undoes just this quantizer, or None."""
    name = node.outputs[0]
    while name not in lowering.graph.outputs:
        users = lowering.graph.consumers.get(name, ())
        if len(users) != 1:
            return None
        (user,) = users
        if user.op == "Clip" and user in lowering.clips:
            name = user.outputs[0]
        elif (user.domain, user.op) == ("", "DequantizeLinear") and _undoes(user, node):
            lowering.done.add(user)
            return user.outputs[0]
        else:
            return None
    return None


def _undoes(user: FileNode, node: FileNode) -> bool:
    same = user.inputs[1:] == node.inputs[1:] and len(node.inputs) == 3
    return same and user.integer("axis", 1) == node.integer("axis", 1)


def dequantize_linear(lowering: Lowering, node: FileNode) -> None:
    """Count the codes from the zero point of the node and relabel their grid."""
    value = lowering.value(node, 0)
    x = lowering.builder.tensors[value.name] if isinstance(value, Coded) else lowering.tensor(node, 0)
    quantizer = lowering.linear(node, len(x.shape))
    name = counted_from(lowering, node, 0, quantizer.one_zero_point)
    lowering.alias(node, lowering.relabelled(node, name, quantizer.scale_for(x.shape)))


def counted_from(lowering: Lowering, node: FileNode, k: int, zero_point: int) -> str:
    """Return the tensor of the integers of input `k` minus a zero point, on whatever scale it has."""
    value = lowering.value(node, k)
    have = value.zero_point if isinstance(value, Coded) else 0
    name = value.name if isinstance(value, Coded) else lowering.tensor(node, k).name
    if have == zero_point:
        return name
    offset = np.array(zero_point - have, dtype=np.int64)
    scale = lowering.builder.tensors[name].scale
    return lowering.inner(node, "sub", [name, lowering.constant(f"{name}.zero_point", offset, scale)])


FOREIGN_RULES = {("", "QuantizeLinear"): quantize_linear, ("", "DequantizeLinear"): dequantize_linear}
