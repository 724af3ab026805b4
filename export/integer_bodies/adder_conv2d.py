"""adder_conv2d: minus the sum of magnitudes of differences, over all windows."""

from __future__ import annotations

from mfsim.export.integer_bodies.aligned import (
    ADDER,
    CONVOLUTION_ALIGNED_EXTRA,
    convolution_aligned_inputs,
    convolution_text,
)
from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(text=convolution_text(ADDER), extra=CONVOLUTION_ALIGNED_EXTRA, derived=convolution_aligned_inputs)
