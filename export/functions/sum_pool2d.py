"""SumPool: sum of each window divided by its area, a power of two. Definition: mfsim/ops/sum_pool2d.py.

Padded zeros count as values, so the divisor is the same everywhere.
"""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
SumPool <kernel_shape, strides, pads> (X) => (Y) {
    Y = AveragePool <kernel_shape: ints = @kernel_shape, strides: ints = @strides, pads: ints = @pads, count_include_pad = 1> (X)
}
"""
