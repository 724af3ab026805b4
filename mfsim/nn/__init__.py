"""Torch layers of multiplication-free networks."""
