"""Filterbank: Fourier transforms of each head's image of patches in int64, gains between. Definition: mfsim/ops/filterbank.py.

`places` and `weights` (one entry for each stage) and `factors` are int64, as `mfsim/derived/filterbank.py` makes them; X
lies on x_scale, the gains [heads, g, g] on gain_scale. Two features are one row of 2 g**2 codes, real parts in front; both
transforms go through the same stages, the second one with the halves exchanged. How products are computed (`products`)
changes no code.
"""

from mfsim.export.functions.stages import BEFORE, CODES, floored, taken, through_stages

FACTORS = ("one_t", "one_g", "up", "down", "pass_up", "pass_down")

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
Filterbank <passing, products> (X, x_scale, gains, gain_scale, places, weights, factors, y_scale) => (Y) {{
{CODES}
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    {"".join(taken("factors", name, k) for k, name in enumerate(FACTORS))}
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
{through_stages("fine", "spectrum", "_there")}
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
{floored("weighted", "gained", "one_b", "half_b")}
    re, im = Split <axis = -1, num_outputs = 2> (gained)
    exchanged = Concat <axis = -1> (im, re)
{through_stages("exchanged", "filtered", "_back")}
    scaled_up = Mul (filtered, up)
    half = Div (down, two)
{floored("scaled_up", "results", "down", "half")}
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
{floored("passed_up", "moved", "pass_down", "pass_half")}
    code = Concat <axis = 2> (moved, image)
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
}}
"""
