"""The Walsh-Hadamard transform."""
