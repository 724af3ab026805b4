"""min_conv2d: the sum of signed lesser magnitudes, over all windows."""

from __future__ import annotations

from mfsim.export.integer_bodies.aligned import (
    CONVOLUTION_ALIGNED_EXTRA,
    MIN,
    convolution_aligned_inputs,
    convolution_text,
)
from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(text=convolution_text(MIN), extra=CONVOLUTION_ALIGNED_EXTRA, derived=convolution_aligned_inputs)
