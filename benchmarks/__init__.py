"""Benchmarks: `make bench`.

`python -m benchmarks` times the `cases` of some files. The files `test_*.py` run under pytest: each measures ratios
between mfsim and its peers and puts them beside their goals, in `results.json`.
"""
