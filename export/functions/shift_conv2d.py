"""ShiftConv: 2-D convolution with weights that are powers of two. Definition: mfsim/ops/shift_conv2d.py."""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
ShiftConv <strides, pads, dilations, group> (X, W) => (Y) {
    Y = Conv <strides: ints = @strides, pads: ints = @pads, dilations: ints = @dilations, group: int = @group> (X, W)
}
"""
