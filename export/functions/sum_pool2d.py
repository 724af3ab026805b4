"""SumPool: sum of each window divided by its area, a power of two. Definition: mfsim/ops/sum_pool2d.py.

Padded zeros count as values, so the divisor is the same everywhere. They are put there first, because
ONNX Runtime takes no padding as wide as the kernel in a pooling node.
"""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
SumPool <kernel_shape, strides, pads> (X) => (Y) {
    sides = Constant <value_ints: ints = @pads> ()
    none = Constant <value_ints = [0, 0]> ()
    before, after = Split <axis = 0, num_outputs = 2> (sides)
    all_sides = Concat <axis = 0> (none, before, none, after)
    padded = Pad (X, all_sides)
    Y = AveragePool <kernel_shape: ints = @kernel_shape, strides: ints = @strides> (padded)
}
"""
