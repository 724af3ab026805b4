"""shift_norm_l1: a centred row divided by a power of two near its mean magnitude; no square.

    c_i = N q_i - sum q,   k = number of thresholds that sum |c| reaches
    y_i = round(c_i 2**(F + g_i - k)) + beta_i

thresholds[j-1] = ceil(N sqrt(2/pi) 2**(j - 1/2)), j = 1 .. b+n+1. It has no
multiplication, division or root. A row is the float row times 0.68 .. 1.49 where it is Gaussian; the gain
depends on the shape of the row (a one-hot row of 4096 comes out up to 0.57 N instead of sqrt(2 N)). Against
`mfsim.nn.ShiftNorm` the error is the rounding alone, 1/2 LSB, but for rows on a threshold.
See mfsim/ops/norm/shift_norms.py.
"""

from __future__ import annotations

from functools import partial

from mfsim.ops.norm import shift_norms
from mfsim.ops.norm.definition import CENTRED_HELD
from mfsim.ops.op import Op
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

OP = Op(
    name="shift_norm_l1",
    summary="centred rows divided by the nearest power of two of their mean magnitude",
    attributes=shift_norms.ATTRIBUTES,
    inputs=("x", "thresholds", "beta"),
    roles={"thresholds": Role.STEPS, "beta": Role.BIAS},
    signature=Signature(
        "ShiftNormL1",
        (
            X,
            X_SCALE,
            Input("gamma_pow", Role.WEIGHT, "gain"),
            Input("beta", Role.BIAS, "bias"),
            Input("thresholds", Role.STEPS),
            Y_SCALE,
        ),
    ),
    primitives=shift_norms.PRIMITIVES,
    infer=partial(shift_norms.infer, "shift_norm_l1", False),
    reference=partial(shift_norms.reference, False),
    count=partial(shift_norms.count, False),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=CENTRED_HELD | shift_norms.SHIFTED_HELD | {"plain>row_sum.total": "statistic"},
)
