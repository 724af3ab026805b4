"""DCT: Lee's cosine transform in int64, then a rounding to the result's grid. Definition: mfsim/ops/dct.py.

`places`, `weights` (one entry for each stage) and `factors` are int64, as `mfsim/derived/dct.py` makes them;
X lies on x_scale. How products are computed (`products`) changes no code.
"""

from mfsim.export.functions.stages import CODES, STAGES, floored, taken

FACTORS = ("one_t", "one_g", "up", "down")

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
DCT <products> (X, x_scale, places, weights, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    {"".join(taken("factors", name, k) for k, name in enumerate(FACTORS))}
{STAGES}
    result = Mul (v, up)
    half = Div (down, two)
{floored("result", "code", "down", "half")}
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
}}
"""
