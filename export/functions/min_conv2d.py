"""MinConv: 2-D convolution with sign(x w) min(|x|, |w|). Definition: mfsim/ops/min_conv2d.py."""

from mfsim.export.functions.aligned import MIN, convolution_body

BODY = convolution_body("MinConv", MIN)
