"""Geometries of convolutions that the cases of several families share."""

from __future__ import annotations


def geometries():
    """Yield (name, x shape, w shape, attributes) of convolutions that use every attribute."""
    yield "pointwise", (3, 2, 2), (4, 3, 1, 1), {}
    yield "valid", (2, 4, 5), (3, 2, 2, 3), {}
    yield "pads", (2, 4, 4), (2, 2, 3, 3), {"pads": (1, 1, 1, 1)}
    yield "uneven-pads", (1, 3, 4), (2, 1, 2, 3), {"pads": (0, 2, 1, 0)}
    yield "strides", (2, 6, 7), (2, 2, 3, 2), {"strides": (3, 2), "pads": (1, 0, 1, 1)}
    yield "dilations", (1, 6, 7), (2, 1, 2, 3), {"dilations": (3, 2), "pads": (0, 1, 1, 0)}
    yield "groups", (4, 3, 3), (6, 2, 2, 2), {"groups": 2, "pads": (1, 0, 0, 1)}
    yield "depthwise", (3, 5, 4), (3, 1, 3, 3), {"groups": 3, "strides": (2, 2), "pads": (1, 1, 1, 1)}
    yield "padding-only-windows", (1, 1, 1), (1, 1, 1, 1), {"pads": (1, 1, 0, 2)}
