"""Softmax and tanh-l1 as one node of an exported file, and as a torch function, for the conformance suite."""

from __future__ import annotations

import numpy as np
import torch

from mfsim.export.functions import DOMAINS
from mfsim.nn.integer import softmax, tanh_l1

MFSIM = next(iter(DOMAINS))


def _onnx(op, without, *powers):
    """Return the form of an op with `without` inputs before the mask; int64 scalars follow the tables.

    `powers` are attributes that the node states as 2**attribute; eps stands behind the first table."""

    def build(form, node, tensors):
        scales = [form.constant(np.float32(2.0**e)) for e in (tensors[0].scale.exponent, -node.attributes["fraction"])]
        tables = [form.constant(np.array(tensor.codes)) for tensor in tensors[1:without]]
        tables[1:1] = [form.constant(np.int64(node.attributes[name])) for name in ("eps",) if name in node.attributes]
        scalars = [form.constant(np.int64(1 << node.attributes[name])) for name in powers]
        inputs = [form.input(0), scales[0], *tables, *scalars, scales[1]]
        if len(tensors) == without:
            return form.add(op, inputs, MFSIM)
        return form.add(f"Masked{op}", [*inputs, form.input(without)], MFSIM)

    return build


def _torch(function, without, *powers):
    def run(a, tensors, x, *others):
        tables = [torch.tensor(tensor.codes) for tensor in tensors[1:without]]
        tables[1:1] = [torch.tensor(a[name]) for name in ("eps",) if name in a]
        scalars = [torch.tensor(1 << a[name]) for name in powers]
        mask = others[without - 1] if len(others) == without else None
        return function(x, 2.0 ** tensors[0].scale.exponent, *tables, *scalars, 2.0 ** -a["fraction"], mask)

    return run


ONNX_FORMS = {
    "softmax": _onnx("Softmax", 2),
    "softmax_log": _onnx("SoftmaxLog", 6, "fine_bits"),
    "softmax_recip": _onnx("SoftmaxRecip", 2, "reciprocal"),
    "softmax_shift": _onnx("SoftmaxShift", 3),
    "tanh_l1": _onnx("TanhL1", 2),
    "tanh_l1_shift": _onnx("TanhL1Shift", 3),
}
TORCH_FORMS = {
    "softmax": _torch(softmax.softmax, 2),
    "softmax_log": _torch(softmax.softmax_log, 6, "fine_bits"),
    "softmax_recip": _torch(softmax.softmax_recip, 2, "reciprocal"),
    "softmax_shift": _torch(softmax.softmax_shift, 3),
    "tanh_l1": _torch(tanh_l1.tanh_l1, 2),
    "tanh_l1_shift": _torch(tanh_l1.tanh_l1_shift, 3),
}
