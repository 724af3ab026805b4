"""Bodies of half_step in model.onnx and integer.onnx."""

from __future__ import annotations

from mfsim.ops.integer_body import IntegerBody

HALF_STEP = """
<opset_import: ["" : 20], domain: "org.mfsim">
HalfStep (X) => (Y) {
    half = Constant <value = float {0.5}> ()
    slope = CastLike (half, X)
    less = Mul (X, slope)
    Y = Max (X, less)
}
"""

MODEL_BODIES = {"half_step": (HALF_STEP,)}

INTEGER_BODIES = {
    "half_step": IntegerBody(
        text="""
  twice = Add(x, x)
  y = Max(x, twice)
"""
    )
}
