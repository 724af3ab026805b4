"""Elementwise ops: magnitude, negation, sign, ReLU, clip, sums, products, soft threshold."""
