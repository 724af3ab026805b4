"""slice: a strided view, copied. Definition: mfsim/ops/slice.py."""

from __future__ import annotations


def run(inputs, attributes, outputs):
    kept = [slice(None)] * inputs[0].ndim
    for axis, start, end, step in zip(*(attributes[name] for name in ("axes", "starts", "ends", "steps")), strict=True):
        kept[axis] = slice(start, end if end >= 0 else None, step)
    outputs[0][...] = inputs[0][tuple(kept)]
