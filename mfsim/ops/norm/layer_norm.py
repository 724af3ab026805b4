"""layer_norm: LayerNorm of each row, a division for each code; no mean or variance is rounded.

    c_i = N q_i - sum q,   V = N sum q**2 - (sum q)**2,   D = max(1, isqrt(V 4**G + eps))
    y_i = round(c_i g_i 2**f / D) + beta_i

gamma = g 2**-fg, f = F + G - fg; `round` is to the nearest, halves away from 0. A
constant row, and a row of one code, gives beta.
With G = F + 2 it is at most 1/2 + gamma / 4 LSB from the float function before saturation, for
every row (0.51 LSB measured on normal rows); mfsim/ops/norm/root_norms.py says why.
"""

from __future__ import annotations

from functools import partial

from mfsim.ops.norm import root_norms
from mfsim.ops.norm.definition import CENTRED_HELD, SPREAD_HELD
from mfsim.ops.op import Op
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

OP = Op(
    name="layer_norm",
    summary="LayerNorm over the last axis, a division for each code",
    attributes=root_norms.ATTRIBUTES,
    inputs=("x", "gamma", "beta"),
    roles={"gamma": Role.WEIGHT, "beta": Role.BIAS},
    signature=Signature(
        "LayerNorm",
        (
            X,
            X_SCALE,
            Input("gamma", Role.WEIGHT, "weight"),
            Input("gamma_scale", Role.WEIGHT_SCALE, "weight.scale"),
            Input("beta", Role.BIAS, "bias"),
            Input("eps", Role.CONSTANT),
            Input("guard", Role.CONSTANT),
            Y_SCALE,
        ),
    ),
    primitives=root_norms.PRIMITIVES,
    infer=partial(root_norms.infer, "layer_norm", True),
    reference=partial(root_norms.reference, True),
    count=root_norms.count,
    derive=root_norms.derive,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    integer_body=True,
    held=CENTRED_HELD | SPREAD_HELD | root_norms.DIVIDED_HELD,
)
