"""transpose: a copy with the axes in another order. Definition: mfsim/ops/transpose.py."""

from __future__ import annotations


def run(inputs, attributes, outputs):
    outputs[0][...] = inputs[0].transpose(attributes["perm"])
