"""Fast kernel of half_step: the greater one of x and 2x, whole arrays at a time."""

from __future__ import annotations

import numpy as np

HALF_STEP_ISAS = ("portable",)


def prepare_half_step(inputs, outputs, attributes):
    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        y[...] = np.maximum(x.astype(np.int64), x.astype(np.int64) << 1)

    return run
