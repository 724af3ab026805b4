"""Planes of the built-in networks: the first convolution pads an image to powers of two.

So every mean is over a power of two of values, and a Walsh-Hadamard transform fits every plane. The
padding belongs to the convolution, so the network's input stays the image itself.
"""

from __future__ import annotations

from mfsim.errors import ShapeError
from mfsim.nn.wht import next_power_of_two

LEAST = 4
"""Least side of a plane: it is halved twice."""


def first_padding(input_shape: tuple[int, int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return ((rows, columns) of padding, plane behind) for a 3x3 convolution of images (C, H, W).

    Raises
    ------
    ShapeError
        If a side is odd and no power of two: it cannot be padded evenly.
    """
    _, rows, columns = input_shape
    plane = max(LEAST, next_power_of_two(rows)), max(LEAST, next_power_of_two(columns))
    missing = plane[0] - rows, plane[1] - columns
    if missing[0] % 2 or missing[1] % 2:
        raise ShapeError(f"images must have even sides, so that they can be padded evenly, not {rows} x {columns}")
    return (1 + missing[0] // 2, 1 + missing[1] // 2), plane
