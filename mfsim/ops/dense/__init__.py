"""Dense products, the baseline that multiplies: matrix product, convolution, Gram matrix."""
