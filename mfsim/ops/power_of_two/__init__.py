"""Products with weights that are powers of two."""
