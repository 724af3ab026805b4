"""Ops that change the grid or the word of codes: requantize, rescale, accumulators, gains."""
