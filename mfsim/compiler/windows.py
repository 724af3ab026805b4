"""Windows over planes, as Conv and the pools state them."""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.compiler.graph import FileNode
from mfsim.errors import ShapeError, UnsupportedOpError


def window(node: FileNode, kernel: Sequence[int] = (), size: Sequence[int] | None = None) -> dict[str, tuple[int, ...]]:
    """Return kernel, strides, pads (top, left, bottom, right) and dilations of a 2-D window.

    `size` is that of the plane, where a file of others may leave the pads to `auto_pad`.

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
    auto_pad = node.text("auto_pad", "NOTSET")
    if auto_pad not in ("NOTSET", "VALID", *(("SAME_UPPER", "SAME_LOWER") if size else ())):
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
    if size and auto_pad.startswith("SAME"):
        made["pads"] = _same(size, made, auto_pad == "SAME_UPPER")
    return made


def _same(size: Sequence[int], made: dict[str, tuple[int, ...]], upper: bool) -> tuple[int, ...]:
    """Return the pads with which ceil(size / stride) windows fit, the odd one behind if `upper`."""
    before, behind = [], []
    for n, kernel, stride, dilation in zip(size, made["kernel"], made["strides"], made["dilations"], strict=True):
        total = max((-(-n // stride) - 1) * stride + dilation * (kernel - 1) + 1 - n, 0)
        before.append(total // 2 if upper else total - total // 2)
        behind.append(total - before[-1])
    return (*before, *behind)


def plane(size: Sequence[int], kernel: Sequence[int], geometry: dict[str, tuple[int, ...]]) -> tuple[int, int]:
    """Return rows and columns of what a window leaves of a plane."""
    strides, pads, dilations = geometry["strides"], geometry["pads"], geometry["dilations"]
    rows, columns = (
        (size[k] + pads[k] + pads[k + 2] - dilations[k] * (kernel[k] - 1) - 1) // strides[k] + 1 for k in range(2)
    )
    return rows, columns
