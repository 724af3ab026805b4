"""rescale: requantize's division by 2**shift, of the product with the multiplier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of, channelwise
from mfsim.export.integer_bodies.fitting import FIT_EXTRA, FIT_TEXT, fit_inputs
from mfsim.export.integer_bodies.requantize import TEXT, divisors, thresholds
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    attributes, ndim, rounded = attributes_of(node), len(inputs[0].shape), node.words["rounded"]
    rules = [thresholds(d, attributes["rounding"]) for d in divisors(attributes)]

    def each(values: Sequence[int]) -> np.ndarray:
        return channelwise(values, attributes["axis"], ndim)

    return {
        "gain": each(attributes["multiplier"]),
        "divisor": each(divisors(attributes)),
        "base": each([r[0] for r in rules]),
        "odd": each([r[1] for r in rules]),
        "negative": each([r[2] for r in rules]),
        **fit_inputs({**attributes, "overflow": "saturate"}, rounded.lo, rounded.hi),
    }


BODY = IntegerBody(
    text=TEXT + FIT_TEXT,
    extra={"gain": CODE, "divisor": CODE, "base": CODE, "odd": CODE, "negative": CODE, **FIT_EXTRA},
    derived=derived,
)
