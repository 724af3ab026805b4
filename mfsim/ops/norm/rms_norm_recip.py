"""rms_norm_recip: RMSNorm of each row, by one reciprocal for each row; no mean or variance is rounded.

    c_i = N q_i,   V = N sum q**2,   D = max(1, isqrt(V 4**G + eps))
    R = 2**K // D;  y_i = sign(c_i g_i) ((|c_i g_i| R 2**f + 2**(K - 1)) // 2**K)

gamma = g 2**-fg, f = F + G - fg; `round` is to the nearest, halves away from 0. A row of zeros gives zeros.
With G = F + 2 and K not capped it is at most 1/2 + gamma / 2 LSB from the float function before
saturation, for every row (0.52 LSB measured on normal rows); mfsim/ops/norm/root_norms.py says why.
"""

from __future__ import annotations

from functools import partial

from mfsim.ops.norm import root_norms
from mfsim.ops.norm.definition import SPREAD_HELD
from mfsim.ops.op import Op
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

OP = Op(
    name="rms_norm_recip",
    summary="RMSNorm over the last axis, by one reciprocal for each row",
    attributes=(*root_norms.ATTRIBUTES, root_norms.RECIPROCAL),
    inputs=("x", "gamma"),
    roles={"gamma": Role.WEIGHT},
    signature=Signature(
        "RMSNormRecip",
        (
            X,
            X_SCALE,
            Input("gamma", Role.WEIGHT, "weight"),
            Input("gamma_scale", Role.WEIGHT_SCALE, "weight.scale"),
            Input("eps", Role.CONSTANT),
            Input("guard", Role.CONSTANT),
            Input("recip_one", Role.CONSTANT),
            Y_SCALE,
        ),
    ),
    primitives=root_norms.PRIMITIVES,
    infer=partial(root_norms.infer, "rms_norm_recip", False),
    reference=partial(root_norms.reference, False),
    count=root_norms.count,
    derive=root_norms.derive,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held={"plain.codes": "scaled"} | SPREAD_HELD | root_norms.MULTIPLIED_HELD,
)
