"""Norms of rows: LayerNorm, RMSNorm, and norms by a power of two."""
