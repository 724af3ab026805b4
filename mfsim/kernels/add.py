"""add: y = a + b. Definition: mfsim/ops/add.py."""

from __future__ import annotations

from mfsim.kernels.sums import combine


def run(inputs, attributes, outputs):
    combine(inputs, attributes, 1, outputs)
