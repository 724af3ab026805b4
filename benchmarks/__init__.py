"""Benchmarks: `make bench`. Each file has a `cases` function; `python -m benchmarks` times them all."""
