"""Compiler rules of the pools."""

from __future__ import annotations

import math
from fractions import Fraction

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering, gain_node
from mfsim.compiler.lower.operands import window
from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.ir.program import Tensor

# MaxPool over planes; padded places never win.


def _max_pool(lowering: Lowering, node: FileNode) -> None:
    """Emit max_pool2d with the window of the node."""
    x = lowering.tensor(node, 0)
    lowering.emit(node, "max_pool2d", [x.name], window(node, (), None if lowering.strict else x.shape[2:]))


MAX_POOL_RULES = {("", "MaxPool"): _max_pool}


# Means over planes: SumPool, AveragePool, GlobalAveragePool, ReduceMean.
#
# A mean is a sum on a finer scale, so the number of its terms must be a power of two; in a third-party file
# any number will do, and whoever requantizes the mean multiplies.


def _sum_pool(lowering: Lowering, node: FileNode) -> None:
    """SumPool, and AveragePool whose padding counts as values."""
    x = lowering.tensor(node, 0)
    attributes = window(node, (), None if lowering.strict else x.shape[2:])
    if attributes.pop("dilations") != (1, 1):
        raise UnsupportedOpError("`dilations` must be 1")
    if node.op == "AveragePool" and any(attributes["pads"]) and not node.integer("count_include_pad", 0):
        raise UnsupportedOpError(
            "`count_include_pad` must be 1 where there are pads, so that every window has the same area"
        )
    lowering.alias(node, _mean(lowering, node, x, attributes))


def _whole_plane(lowering: Lowering, node: FileNode) -> None:
    """GlobalAveragePool, and ReduceMean over the last two of four axes."""
    x = lowering.tensor(node, 0)
    keep = bool(node.integer("keepdims", 1)) or node.op == "GlobalAveragePool"
    if node.op == "ReduceMean":
        axes = node.integers("axes") or lowering.optional_ints(node, 1, "the axes") or ()
        if len(x.shape) != 4 or sorted(axis % 4 for axis in axes) != [2, 3]:
            raise UnsupportedOpError(
                f"only the last two of four axes can be averaged, not the axes {list(axes)} of {len(x.shape)}"
            )
    if len(x.shape) != 4:
        raise ShapeError(f"x must be [N, C, H, W], not of {len(x.shape)} axes")
    attributes = {"kernel": x.shape[2:], "strides": (1, 1), "pads": (0, 0, 0, 0)}
    if keep:
        lowering.alias(node, _mean(lowering, node, x, attributes))
    else:
        pooled = _mean(lowering, node, x, attributes, last=False)
        lowering.emit(node, "reshape", [pooled], {"shape": x.shape[1:2]})


def _mean(
    lowering: Lowering, node: FileNode, x: Tensor, attributes: dict[str, tuple[int, ...]], last: bool = True
) -> str:
    """Return the mean over windows; the `last` node is named as the file names its result."""
    area = math.prod(attributes["kernel"])
    if lowering.strict or area & (area - 1) == 0:
        made = lowering.emit if last else lowering.inner
        return made(node, "sum_pool2d", [x.name], attributes | {"mean": 1})
    total = lowering.inner(node, "sum_pool2d", [x.name], attributes | {"mean": 0})
    op, gain = gain_node([Fraction(1, area)], -1)
    return lowering.emit(node, op, [total], gain) if last else lowering.inner(node, op, [total], gain)


SUM_POOL_RULES = {
    ("org.mfsim", "SumPool"): _sum_pool,
    ("", "AveragePool"): _sum_pool,
    ("", "GlobalAveragePool"): _whole_plane,
    ("", "ReduceMean"): _whole_plane,
}

RULES = MAX_POOL_RULES | SUM_POOL_RULES
