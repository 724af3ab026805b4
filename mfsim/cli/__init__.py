"""The command line: one file for each command, each a thin call of public functions.

Nothing here imports torch, ONNX or Numba at the top of a file, so `mfsim --help` answers at once; a
command imports what it needs when it runs.
"""
