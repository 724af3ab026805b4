"""AdderConv: 2-D convolution with -|x - w|. Definition: mfsim/ops/adder_conv2d.py."""

from mfsim.export.functions.aligned import ADDER, convolution_body

BODY = convolution_body("AdderConv", ADDER)
