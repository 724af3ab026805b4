"""conv2d: one MatMul of the weights with all windows, and the bias."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody
from mfsim.export.integer_bodies.convolution import CONVOLUTION_EXTRA, columns_text, convolution_inputs
from mfsim.export.integer_bodies.windows import PLANES_TEXT

TEXT = (
    PLANES_TEXT
    + columns_text("planes", "columns")
    + """
  weights = Reshape(w, weights_shape)
  products = MatMul(weights, columns)
  sums = Reshape(products, shape)
  start = Reshape(bias, channels_shape)
  y = Add(sums, start)
"""
)


BODY = IntegerBody(text=TEXT, extra=CONVOLUTION_EXTRA, derived=convolution_inputs)
