"""reshape: a copy in another shape. Definition: mfsim/ops/reshape.py."""

from __future__ import annotations


def run(inputs, attributes, outputs):
    outputs[0][...] = inputs[0].reshape(outputs[0].shape)
