"""shift_norm_l2: the number of thresholds that N**2 times the variance reaches is a power of two to divide by."""

from mfsim.export.integer_bodies.norms import shift_norm

BODY = shift_norm("l2")
