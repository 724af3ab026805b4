"""The integer program and the words that everything is said in: formats, ranges, scales."""
