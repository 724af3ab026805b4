"""shift_matmul: the MatMul of `matmul`; its products with powers of two are the host's shifts."""

from __future__ import annotations

from mfsim.export.integer_bodies.matmul import BODY as DENSE

BODY = DENSE
