"""MFConv: 2-D convolution with the MF operator. Definition: mfsim/ops/mf_conv2d.py.

The padding comes before the operator: with `sign_zero` 1 a padded zero has the sign +1.
"""

from mfsim.export.functions.mf import OPERANDS

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
MFConv <form, sign_zero, grid, strides, pads, dilations, group> (X, W) => (Y) {{
    sides = Constant <value_ints: ints = @pads> ()
    none = Constant <value_ints = [0, 0]> ()
    before, after = Split <axis = 0, num_outputs = 2> (sides)
    all_sides = Concat <axis = 0> (none, before, none, after)
    P = Pad (X, all_sides)
    {OPERANDS}
    x_part = Conv <strides: ints = @strides, dilations: ints = @dilations, group: int = @group> (xa, sw)
    w_part = Conv <strides: ints = @strides, dilations: ints = @dilations, group: int = @group> (sx, wa)
    Y = Add (x_part, w_part)
}}
"""
