"""Means over planes: SumPool, AveragePool, GlobalAveragePool, ReduceMean.

A mean is a sum on a finer scale, so the number of its terms must be a power of two.
"""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.windows import window
from mfsim.errors import ShapeError, UnsupportedOpError


def sum_pool(lowering: Lowering, node: FileNode) -> None:
    """SumPool, and AveragePool whose padding counts as values."""
    attributes = window(node)
    if attributes.pop("dilations") != (1, 1):
        raise UnsupportedOpError("`dilations` must be 1")
    if node.op == "AveragePool" and any(attributes["pads"]) and not node.integer("count_include_pad", 0):
        raise UnsupportedOpError(
            "`count_include_pad` must be 1 where there are pads, so that every window has the same area"
        )
    lowering.emit(node, "sum_pool2d", [lowering.tensor(node, 0).name], attributes | {"mean": 1})


def whole_plane(lowering: Lowering, node: FileNode) -> None:
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
    attributes = {"kernel": x.shape[2:], "strides": (1, 1), "pads": (0, 0, 0, 0), "mean": 1}
    if keep:
        lowering.emit(node, "sum_pool2d", [x.name], attributes)
    else:
        pooled = lowering.inner(node, "sum_pool2d", [x.name], attributes)
        lowering.emit(node, "reshape", [pooled], {"shape": x.shape[1:2]})


RULES = {
    ("org.mfsim", "SumPool"): sum_pool,
    ("", "AveragePool"): sum_pool,
    ("", "GlobalAveragePool"): whole_plane,
    ("", "ReduceMean"): whole_plane,
}
