"""Networks for small images and for tokens: `create` makes one by name, `resolve` finds a user's own."""

from __future__ import annotations

from mfsim.nn.models.registry import IMAGE_NAMES, NAMES, TOKEN_NAMES, create, resolve

__all__ = ["IMAGE_NAMES", "NAMES", "TOKEN_NAMES", "create", "resolve"]
