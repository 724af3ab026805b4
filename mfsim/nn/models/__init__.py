"""Networks for small images: `create` makes one by name, `resolve` finds a user's own."""

from __future__ import annotations

from mfsim.nn.models.registry import IMAGE_NAMES, NAMES, create, resolve

__all__ = ["IMAGE_NAMES", "NAMES", "create", "resolve"]
