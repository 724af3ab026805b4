"""Softmax and tanh-l1: weights of the entries of a row."""
