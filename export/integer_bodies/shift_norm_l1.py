"""shift_norm_l1: the number of thresholds that the sum of magnitudes reaches is a power of two to divide by."""

from mfsim.export.integer_bodies.norms import shift_norm

BODY = shift_norm("l1")
