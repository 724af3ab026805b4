"""What the bodies of the MF products share: the signs and the operands of both forms, as ONNX text.

    y = xa * sign(wa) + sign(x) * wa,   xa = |x|, wa = |w| for the form `abs`, else x, w

`OPERANDS` reads `P` and `W` and writes `xa`, `sx`, `wa`, `sw`. The sign of 0 is the attribute `sign_zero`;
`grid` changes no real value and is not read. Definition: mfsim/ops/products.py.
"""

from mfsim.export.functions.text import choices

OPERANDS = f"""
    origin = Constant <value_ints = [0]> ()
    {choices("form", ("abs",), "origin")}
    zero_int = Constant <value_int: int = @sign_zero> ()
    zero = CastLike (zero_int, P)
    one_int = Constant <value_int = 1> ()
    one = CastLike (one_int, P)
    px = Sign (P)
    mx = Abs (px)
    nx = Sub (one, mx)
    zx = Mul (nx, zero)
    sx = Add (px, zx)
    pw = Sign (W)
    mw = Abs (pw)
    nw = Sub (one, mw)
    zw = Mul (nw, zero)
    sw = Add (pw, zw)
    xa = If (is_abs) <
        then_branch = magnitude_x () => (ax) {{ ax = Abs (P) }},
        else_branch = value_x () => (vx) {{ vx = Identity (P) }}
    >
    wa = If (is_abs) <
        then_branch = magnitude_w () => (aw) {{ aw = Abs (W) }},
        else_branch = value_w () => (vw) {{ vw = Identity (W) }}
    >
"""
