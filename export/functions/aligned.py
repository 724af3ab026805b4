"""What the bodies of the products on one grid share, as ONNX text. Definition: mfsim/ops/aligned.py.

A term reads `a` and `b`, broadcast against each other, and writes `t`, which is then summed. All terms of
an output are held at once: outputs times terms numbers for each position.
"""

ADDER = """
    d = Sub (a, b)
    m = Abs (d)
    t = Neg (m)
"""
"""t = -|a - b|."""

MIN = """
    s = Sign (b)
    p = Mul (a, s)
    m = Abs (b)
    n = Neg (m)
    raised = Max (p, n)
    t = Min (raised, m)
"""
"""t = sign(a b) min(|a|, |b|): a sign(b), clipped to -|b|..|b|."""


def matrix_body(name: str, term: str) -> str:
    """Return the body of a matrix product of X [..., K] and W [..., K, O]."""
    return f"""
<opset_import: ["" : 20], domain: "org.mfsim">
{name} (X, W) => (Y) {{
    last = Constant <value_ints = [-1]> ()
    inner = Constant <value_ints = [-2]> ()
    outer = Constant <value_ints = [-3]> ()
    a = Unsqueeze (X, last)
    b = Unsqueeze (W, outer)
    {term}
    Y = ReduceSum <keepdims = 0> (t, inner)
}}
"""


def convolution_body(name: str, term: str) -> str:
    """Return the body of a convolution.

    The windows of the padded X are gathered by a convolution with ones and zeros, which is exact.
    """
    return f"""
<opset_import: ["" : 20], domain: "org.mfsim">
{name} <strides, pads, dilations, group> (X, W) => (Y) {{
    sides = Constant <value_ints: ints = @pads> ()
    none = Constant <value_ints = [0, 0]> ()
    before, after = Split <axis = 0, num_outputs = 2> (sides)
    all_sides = Concat <axis = 0> (none, before, none, after)
    P = Pad (X, all_sides)
    batch = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    third = Constant <value_ints = [3]> ()
    groups_int = Constant <value_int: int = @group> ()
    groups = Reshape (groups_int, one)
    outputs = Shape <start = 0, end = 1> (W)
    window = Shape <start = 1> (W)
    terms = ReduceProd (window)
    square = Concat <axis = 0> (terms, terms)
    empty = ConstantOfShape (square)
    eye = EyeLike (empty)
    taps_shape = Concat <axis = 0> (terms, window)
    taps = Reshape (eye, taps_shape)
    repeats = Concat <axis = 0> (groups, one, one, one)
    all_taps_single = Tile (taps, repeats)
    all_taps = CastLike (all_taps_single, X)
    columns = Conv <strides: ints = @strides, dilations: ints = @dilations, group: int = @group> (P, all_taps)
    plane = Shape <start = 2> (columns)
    a_shape = Concat <axis = 0> (batch, groups, one, terms, plane)
    a = Reshape (columns, a_shape)
    each = Div (outputs, groups)
    b_shape = Concat <axis = 0> (one, groups, each, terms, one, one)
    b = Reshape (W, b_shape)
    {term}
    sums = ReduceSum <keepdims = 0> (t, third)
    y_shape = Concat <axis = 0> (batch, outputs, plane)
    Y = Reshape (sums, y_shape)
}}
"""
