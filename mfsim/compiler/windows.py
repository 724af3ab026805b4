"""Windows over planes, as Conv and the pools state them."""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.compiler.graph import FileNode
from mfsim.errors import ShapeError, UnsupportedOpError


def window(node: FileNode, kernel: Sequence[int] = ()) -> dict[str, tuple[int, ...]]:
    """Return kernel, strides, pads (top, left, bottom, right) and dilations of a 2-D window.

    Raises
    ------
    UnsupportedOpError
        If sizes follow from `auto_pad` SAME or from `ceil_mode`.
    ShapeError
        If the window has not two axes, or is not that of the weights (`kernel`).
    """
    given = node.integers("kernel_shape", kernel)
    if len(given) != 2 or (kernel and given != tuple(kernel)):
        raise ShapeError(
            f"`kernel_shape` must be two ints{f' equal to {tuple(kernel)}' if kernel else ''}, not {given}"
        )
    if node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise UnsupportedOpError(f"`auto_pad` must be NOTSET or VALID, not {node.text('auto_pad', '')}; state the pads")
    if node.integer("ceil_mode", 0):
        raise UnsupportedOpError("`ceil_mode` must be 0; pad the input instead")
    made = {
        "kernel": given,
        "strides": node.integers("strides", (1, 1)),
        "pads": node.integers("pads", (0, 0, 0, 0)),
        "dilations": node.integers("dilations", (1, 1)),
    }
    for name, count in (("strides", 2), ("pads", 4), ("dilations", 2)):
        if len(made[name]) != count:
            raise ShapeError(f"`{name}` must be {count} ints, not {made[name]}")
    return made


def plane(size: Sequence[int], kernel: Sequence[int], geometry: dict[str, tuple[int, ...]]) -> tuple[int, int]:
    """Return rows and columns of what a window leaves of a plane."""
    strides, pads, dilations = geometry["strides"], geometry["pads"], geometry["dilations"]
    rows, columns = (
        (size[k] + pads[k] + pads[k + 2] - dilations[k] * (kernel[k] - 1) - 1) // strides[k] + 1 for k in range(2)
    )
    return rows, columns
