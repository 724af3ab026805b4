"""Networks for small images: `create` makes one by name, `resolve` finds a user's own."""

from __future__ import annotations

from mfsim.nn.models.registry import NAMES, create, resolve

__all__ = ["NAMES", "create", "resolve"]
