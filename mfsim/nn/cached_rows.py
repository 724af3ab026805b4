"""`CachedRows`: where the rows pass that decoding keeps for later tokens."""

from __future__ import annotations

from torch import nn


class CachedRows(nn.Identity):
    """Hand on rows. Quantized, it has a quantizer behind it, whatever the recipe.

    So all that reads the rows, for this token or a later one, reads the codes that a cache holds.
    """
