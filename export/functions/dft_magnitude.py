"""DFTMagnitude: a fixed-point Fourier transform in int64, then integer roots. Definition: mfsim/ops/dft_magnitude.py.

`places`, `weights` (one entry for each stage), `bins` and `factors` are int64, as `mfsim/derived/dft.py`
makes them; X lies on x_scale. A Loop goes through the stages, each of which gathers and adds.
"""

from mfsim.export.functions.norms import INTEGER_ROOT
from mfsim.export.functions.stages import CODES, STAGES, taken

FACTORS = ("one_t", "one_g", "power_up", "power_down", "end_factor", "end_up", "end_down")

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
DFTMagnitude (X, x_scale, places, weights, bins, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    {"".join(taken("factors", name, k) for k, name in enumerate(FACTORS))}
{STAGES}
    {"".join(taken("bins", name, k) for k, name in enumerate(("re_place", "im_place", "ends")))}
    re = Gather <axis = -1> (v, re_place)
    im = Gather <axis = -1> (v, im_place)
    re2 = Mul (re, re)
    im2 = Mul (im, im)
    power = Add (re2, im2)
    power_scaled = Mul (power, power_up)
    power_shifted = Div (power_scaled, power_down)
    inner = Sub (one, ends)
    W = Mul (power_shifted, inner)
{INTEGER_ROOT}
    r2_raised = Add (r2, one)
    magnitude = Div (r2_raised, two)
    size = Abs (re)
    end_product = Mul (size, end_factor)
    end_scaled = Mul (end_product, end_up)
    end_half = Div (end_down, two)
    end_raised = Add (end_scaled, end_half)
    end_rounded = Div (end_raised, end_down)
    is_end = Cast <to = 9> (ends)
    code = Where (is_end, end_rounded, magnitude)
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
}}
"""
