"""rms_norm_recip: sums, an integer root bit by bit, and a rounded product with its reciprocal."""

from mfsim.export.integer_bodies.norms import root_norm

BODY = root_norm(centred=False, reciprocal=True)
