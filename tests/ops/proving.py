"""Run the parts of one op without a program: proof, reference, kernel, count."""

from __future__ import annotations

import collections

import numpy as np

from mfsim import ops
from mfsim.errors import MfsimError
from mfsim.ir.program import Node
from mfsim.ops.op import objects


def prove(op: str, *tensors, **attributes):
    """Return what `op` proves for `tensors`."""
    kind = ops.get(op)
    return kind.infer(tensors, kind.derived(tensors, attributes))


def refusal(op: str, *tensors, **attributes) -> tuple[type, str]:
    """Return the class and the message of the error that `op` raises."""
    try:
        prove(op, *tensors, **attributes)
    except MfsimError as error:
        return type(error), str(error)
    raise AssertionError(f"op {op} accepted {attributes}")


def compute(op: str, tensors, codes, **attributes):
    """Return the result of the kernel as a list, checked against the reference; `codes` serve the dynamic inputs."""
    kind = ops.get(op)
    complete = kind.derived(tensors, attributes)
    given = iter(np.asarray(c, dtype=np.int64) for c in codes)
    inputs = [tensor.codes if tensor.is_constant else next(given) for tensor in tensors]
    (tensor,) = kind.infer(tensors, complete).outputs
    batch = len(next(c for c, t in zip(inputs, tensors, strict=True) if not t.is_constant))
    out = np.empty((batch, *tensor.shape[1:]), dtype=np.int64)
    ops.plain_kernel(op)(inputs, complete, [out])
    (expected,) = kind.reference([objects(i) for i in inputs], complete)
    assert out.tolist() == expected.tolist()
    return out.tolist()


def counted(op: str, *tensors, offline=False, **attributes) -> collections.Counter:
    """Return the operations of one sample by primitive."""
    kind = ops.get(op)
    complete = kind.derived(tensors, attributes)
    inference = kind.infer(tensors, complete)
    node = Node("n", op, [str(k) for k in range(len(tensors))], ["y"], complete, inference.words, "layer")
    total = collections.Counter()
    for row in kind.count(node, tensors, inference.outputs):
        if row.offline == offline:
            total[row.primitive] += row.count
    return total
