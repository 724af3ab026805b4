"""DFTAlphaBeta: a fixed-point Fourier transform in int64, then estimates of magnitudes. Definition: mfsim/ops/dft_alpha_beta.py.

`places`, `weights` (one entry for each stage), `bins` and `factors` are int64, as `mfsim/derived/dft.py` makes them; X
lies on x_scale. How products are computed (`products`) changes no code.
"""

from mfsim.export.functions.stages import CODES, STAGES, taken

FACTORS = ("one_t", "one_g", "factor", "up", "down")

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
DFTAlphaBeta <products> (X, x_scale, places, weights, bins, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    four = Constant <value_int = 4> ()
    seven = Constant <value_int = 7> ()
    eight = Constant <value_int = 8> ()
    {"".join(taken("factors", name, k) for k, name in enumerate(FACTORS))}
{STAGES}
    {"".join(taken("bins", name, k) for k, name in enumerate(("re_place", "im_place", "ends")))}
    re = Gather <axis = -1> (v, re_place)
    im = Gather <axis = -1> (v, im_place)
    re_size = Abs (re)
    im_all = Abs (im)
    inner = Sub (one, ends)
    im_size = Mul (im_all, inner)
    greater = Max (re_size, im_size)
    smaller = Min (re_size, im_size)
    whole = Mul (greater, eight)
    flat = Add (whole, smaller)
    less = Mul (greater, seven)
    more = Mul (smaller, four)
    steep = Add (less, more)
    estimate = Max (flat, steep)
    product_end = Mul (estimate, factor)
    scaled_up = Mul (product_end, up)
    half = Div (down, two)
    end_raised = Add (scaled_up, half)
    code = Div (end_raised, down)
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
}}
"""
