"""rms_norm: sums, an integer root bit by bit, and a rounded quotient."""

from mfsim.export.integer_bodies.norms import root_norm

BODY = root_norm(centred=False, reciprocal=False)
