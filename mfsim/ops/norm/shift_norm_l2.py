"""shift_norm_l2: a centred row divided by a power of two near its standard deviation; no root.

    c_i = N q_i - sum q,   k = number of thresholds that V = N sum q**2 - (sum q)**2 reaches
    y_i = round(c_i 2**(F + g_i - k)) + beta_i

thresholds[j-1] = 2**(2j - 1), j = 1 .. b+n+1, so that k = bit_length(V) // 2. Its only multiplications are
squares: the N q_i**2 and one of the sum. A row is the float row times 2**-1/2 .. 2**1/2. Against
`mfsim.nn.ShiftNorm` the error is the rounding alone, 1/2 LSB, but for rows on a threshold.
See mfsim/ops/norm/shift_norms.py.
"""

from __future__ import annotations

from functools import partial

from mfsim.ops.norm import shift_norms
from mfsim.ops.norm.definition import CENTRED_HELD, SPREAD_HELD
from mfsim.ops.op import Op
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

OP = Op(
    name="shift_norm_l2",
    summary="centred rows divided by the nearest power of two of their standard deviation",
    attributes=shift_norms.ATTRIBUTES,
    inputs=("x", "thresholds", "beta"),
    roles={"thresholds": Role.STEPS, "beta": Role.BIAS},
    signature=Signature(
        "ShiftNormL2",
        (
            X,
            X_SCALE,
            Input("gamma_pow", Role.WEIGHT, "gain"),
            Input("beta", Role.BIAS, "bias"),
            Input("thresholds", Role.STEPS),
            Y_SCALE,
        ),
    ),
    primitives=shift_norms.PRIMITIVES | {"mul"},
    infer=partial(shift_norms.infer, "shift_norm_l2", True),
    reference=partial(shift_norms.reference, True),
    count=partial(shift_norms.count, True),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=CENTRED_HELD | SPREAD_HELD | shift_norms.SHIFTED_HELD,
)
