"""A case of every sum: terms that cancel, whose partial sums lie far outside what the whole one can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range
from mfsim.ir.program import Value
from mfsim.ops.op import Case, activation, constant


def cancelling(convolution: bool, attributes: Mapping[str, Value] | None = None) -> Case:
    """Return the case: codes of one sign, weights whose sum is 0 (in both orders of signs), and a bias."""
    weights = np.array([[4, 4, -4, -4], [-4, -4, 4, 4]])
    shape, w = ((1, 1, 4), weights.reshape(2, 1, 1, 4)) if convolution else ((4,), weights.T)
    x = replace(activation("x", shape, Format(4)), range=Range.of(5, 7))
    name = "-".join(["cancelling", *map(str, (attributes or {}).values())])
    return Case(name, (x, constant("w", w), constant("b", np.array([25, 25]))), attributes or {}, exhaustive=True)
