"""flatten: a copy on one axis. Definition: mfsim/ops/flatten.py."""

from __future__ import annotations


def run(inputs, attributes, outputs):
    outputs[0][...] = inputs[0].reshape(outputs[0].shape)
