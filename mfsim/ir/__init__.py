"""The integer program and the formats of its codes: words, ranges, scales."""
