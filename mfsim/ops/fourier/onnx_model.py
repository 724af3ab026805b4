"""Bodies of the fixed-point Fourier and cosine transforms in model.onnx, as ONNX text."""

from __future__ import annotations

from mfsim.ops.onnx_text import INTEGER_ROOT

# Pieces of ONNX text that the fixed-point transforms share. Definitions: mfsim/ops/fourier/dft_tables.py, mfsim/ops/fourier/dct_tables.py.
#
# A Loop goes through the stages, each of which gathers and adds; everything is int64.

CODES = """
    scaled = Div (X, x_scale)
    nearest = Round (scaled)
    q = Cast <to = 7> (nearest)
"""
"""The codes q of X."""


def _taken(source: str, row: str, place: int) -> str:
    """Return the text that makes `row` the given row of `source`."""
    return f"{row}_at = Constant <value_int = {place}> ()\n    {row} = Gather <axis = 0> ({source}, {row}_at)\n    "


def _through_stages(start: str, end: str, mark: str = "") -> str:
    """Return the text from codes `start` to `end`, the codes behind the last stage.

    `mark` ends the names within, where one body goes through the stages twice. What `BEFORE` makes must be there.
    """
    at = "".join(
        _taken(f"from{mark}", f"{name}{mark}", k) for k, name in enumerate(("kept_place", "real_place", "other_place"))
    )
    by = "".join(
        _taken(f"by{mark}", f"{name}{mark}", k) for k, name in enumerate(("keep", "turn", "of_real", "of_other"))
    )
    return f"""
    {end} = Loop (count, go, {start}) <
        body = stage{mark} (int64 step{mark}, bool go_on{mark}, u{mark}) => (goes_on{mark}, w{mark}) {{
            goes_on{mark} = Identity (go_on{mark})
            from{mark} = Gather <axis = 0> (places, step{mark})
            by{mark} = Gather <axis = 0> (weights, step{mark})
            {at}
            {by}
            kept{mark} = Gather <axis = -1> (u{mark}, kept_place{mark})
            real{mark} = Gather <axis = -1> (u{mark}, real_place{mark})
            other{mark} = Gather <axis = -1> (u{mark}, other_place{mark})
            real_part{mark} = Mul (real{mark}, of_real{mark})
            other_part{mark} = Mul (other{mark}, of_other{mark})
            product{mark} = Add (real_part{mark}, other_part{mark})
            raised{mark} = Add (product{mark}, half_t)
            rest{mark} = Mod (raised{mark}, one_t)
            whole{mark} = Sub (raised{mark}, rest{mark})
            turned{mark} = Div (whole{mark}, one_t)
            first{mark} = Mul (kept{mark}, keep{mark})
            second{mark} = Mul (turned{mark}, turn{mark})
            w{mark} = Add (first{mark}, second{mark})
        }}
    >
"""


def _floored(start: str, end: str, divisor: str, half: str) -> str:
    """Return the text from `start` to `end` = (start + half) / divisor, floored, divisor > 0; names begin with `end`."""
    return f"""
    {end}_raised = Add ({start}, {half})
    {end}_rest = Mod ({end}_raised, {divisor})
    {end}_whole = Sub ({end}_raised, {end}_rest)
    {end} = Div ({end}_whole, {divisor})
"""


BEFORE = """
    half_t = Div (one_t, two)
    stages = Shape <end = 1> (places)
    count = Squeeze (stages)
    go = Cast <to = 9> (one)
"""

STAGES = BEFORE + "\n    fine = Mul (q, one_g)\n" + _through_stages("fine", "v")
"""From q to v, the codes behind the last stage; `one`, `two`, `one_t` and `one_g` must be there."""

# DCT: Lee's cosine transform in int64, then a rounding to the result's grid. Definition: mfsim/ops/fourier/dct.py.
#
# `places`, `weights` (one entry for each stage) and `factors` are int64, as `mfsim/ops/fourier/dct_tables.py` makes them;
# X lies on x_scale. How products are computed (`products`) changes no code.

DCT_FACTORS = ("one_t", "one_g", "up", "down")

DCT = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
DCT <products> (X, x_scale, places, weights, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    {"".join(_taken("factors", name, k) for k, name in enumerate(DCT_FACTORS))}
{STAGES}
    result = Mul (v, up)
    half = Div (down, two)
{_floored("result", "code", "down", "half")}
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
}}
"""

# DFTMagnitude: a fixed-point Fourier transform in int64, then integer roots. Definition: mfsim/ops/fourier/dft_magnitude.py.
#
# `places`, `weights` (one entry for each stage), `bins` and `factors` are int64, as `mfsim/ops/fourier/dft_tables.py`
# makes them; X lies on x_scale. A Loop goes through the stages, each of which gathers and adds.

DFT_MAGNITUDE_FACTORS = ("one_t", "one_g", "power_up", "power_down", "end_factor", "end_up", "end_down")

DFT_MAGNITUDE = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
DFTMagnitude (X, x_scale, places, weights, bins, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    {"".join(_taken("factors", name, k) for k, name in enumerate(DFT_MAGNITUDE_FACTORS))}
{STAGES}
    {"".join(_taken("bins", name, k) for k, name in enumerate(("re_place", "im_place", "ends")))}
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

# DFTAlphaBeta: a fixed-point Fourier transform in int64, then estimates of magnitudes. Definition: mfsim/ops/fourier/dft_alpha_beta.py.
#
# `places`, `weights` (one entry for each stage), `bins` and `factors` are int64, as `mfsim/ops/fourier/dft_tables.py` makes them; X
# lies on x_scale. How products are computed (`products`) changes no code.

DFT_ALPHA_BETA_FACTORS = ("one_t", "one_g", "factor", "up", "down")

DFT_ALPHA_BETA = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
DFTAlphaBeta <products> (X, x_scale, places, weights, bins, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    four = Constant <value_int = 4> ()
    seven = Constant <value_int = 7> ()
    eight = Constant <value_int = 8> ()
    {"".join(_taken("factors", name, k) for k, name in enumerate(DFT_ALPHA_BETA_FACTORS))}
{STAGES}
    {"".join(_taken("bins", name, k) for k, name in enumerate(("re_place", "im_place", "ends")))}
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

# Filterbank: Fourier transforms of each head's image of patches in int64, gains between. Definition: mfsim/ops/fourier/filterbank.py.
#
# `places` and `weights` (one entry for each stage) and `factors` are int64, as `mfsim/ops/fourier/filterbank_tables.py` makes them; X
# lies on x_scale, the gains [heads, g, g] on gain_scale. Two features are one row of 2 g**2 codes, real parts in front; both
# transforms go through the same stages, the second one with the halves exchanged. How products are computed (`products`)
# changes no code.

FILTERBANK_FACTORS = ("one_t", "one_g", "up", "down", "pass_up", "pass_down")

FILTERBANK = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
Filterbank <passing, products> (X, x_scale, gains, gain_scale, places, weights, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    {"".join(_taken("factors", name, k) for k, name in enumerate(FILTERBANK_FACTORS))}
    zeros = Constant <value_ints = [0]> ()
    tokens_axis = Constant <value_ints = [2]> ()
    features_axis = Constant <value_ints = [3]> ()
    tokens = Shape <start = 2, end = 3> (X)
    features = Shape <start = 3> (X)
    front_number = Constant <value_int: int = @passing> ()
    front = Unsqueeze (front_number, zeros)
    passed = Slice (q, zeros, front, tokens_axis)
    patches = Slice (q, front, tokens, tokens_axis)
    odd = Mod (features, two)
    no_pads = Constant <value_ints = [0, 0, 0, 0, 0, 0, 0]> ()
    pads = Concat <axis = 0> (no_pads, odd)
    even = Pad (patches, pads)
    first = Constant <value_ints = [1]> ()
    step = Constant <value_ints = [2]> ()
    width = Add (features, odd)
    evens = Slice (even, zeros, width, features_axis, step)
    odds = Slice (even, first, width, features_axis, step)
    even_rows = Transpose <perm = [0, 1, 3, 2]> (evens)
    odd_rows = Transpose <perm = [0, 1, 3, 2]> (odds)
    rows = Concat <axis = -1> (even_rows, odd_rows)
    fine = Mul (rows, one_g)
{BEFORE}
{_through_stages("fine", "spectrum", "_there")}
    gain_scaled = Div (gains, gain_scale)
    gain_nearest = Round (gain_scaled)
    g = Cast <to = 7> (gain_nearest)
    head_shape = Constant <value_ints = [0, 1, -1]> ()
    of_head = Reshape (g, head_shape)
    of_both = Concat <axis = -1> (of_head, of_head)
    weighted = Mul (spectrum, of_both)
    gain_one = Reciprocal (gain_scale)
    one_b = Cast <to = 7> (gain_one)
    half_b = Div (one_b, two)
{_floored("weighted", "gained", "one_b", "half_b")}
    re, im = Split <axis = -1, num_outputs = 2> (gained)
    exchanged = Concat <axis = -1> (im, re)
{_through_stages("exchanged", "filtered", "_back")}
    scaled_up = Mul (filtered, up)
    half = Div (down, two)
{_floored("scaled_up", "results", "down", "half")}
    y_im, y_re = Split <axis = -1, num_outputs = 2> (results)
    y_evens = Transpose <perm = [0, 1, 3, 2]> (y_re)
    y_odds = Transpose <perm = [0, 1, 3, 2]> (y_im)
    y_apart = Concat <axis = -1> (y_evens, y_odds)
    zero = Constant <value_int = 0> ()
    feature_count = Squeeze (features)
    feature = Range (zero, feature_count, one)
    parity = Mod (feature, two)
    half_width = Div (width, step)
    behind = Mul (parity, half_width)
    pair = Div (feature, two)
    feature_at = Add (pair, behind)
    image = Gather <axis = -1> (y_apart, feature_at)
    passed_up = Mul (passed, pass_up)
    pass_half = Div (pass_down, two)
{_floored("passed_up", "moved", "pass_down", "pass_half")}
    code = Concat <axis = 2> (moved, image)
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
}}
"""

MODEL_BODIES = {
    "dct": (DCT,),
    "dft_magnitude": (DFT_MAGNITUDE,),
    "dft_alpha_beta": (DFT_ALPHA_BETA,),
    "filterbank": (FILTERBANK,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""
