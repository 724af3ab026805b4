"""shift_conv2d: the MatMul of `conv2d` with all windows; its products with powers of two are the host's shifts."""

from __future__ import annotations

from mfsim.export.integer_bodies.conv2d import BODY as DENSE

BODY = DENSE
