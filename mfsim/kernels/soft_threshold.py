"""soft_threshold: y = sign(x) * max(|x| - t, 0). Definition: mfsim/ops/soft_threshold.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, host_by_sign, less, negate, select


@kernel
def plain(x, thresholds, inner, y):
    """Shrink x of shape (outer, channels, inner), flat; one threshold, or one for each channel."""
    for i in range(x.size):
        threshold = thresholds[i // inner % thresholds.size]
        magnitude = absolute(x[i])
        difference = addsub(magnitude, threshold, -1)
        kept = select(less(threshold, magnitude), difference, 0)
        y[i] = negate(kept, host_by_sign(x[i], -1, 1))


def run(inputs, attributes, outputs):
    x, thresholds = inputs
    axis = attributes["axis"]
    inner = 1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
    plain(x.reshape(-1), thresholds, inner, outputs[0].reshape(-1))
