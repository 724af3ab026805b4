"""Multiplication-free products: sign(x) |w| + sign(w) |x|."""
