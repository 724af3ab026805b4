"""Signs of gains behind a product: taken into its weights, so that only positive gains are left to relabel."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.foreign import affine_of
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering


def output_signs(lowering: Lowering, output: str, outputs: int) -> np.ndarray | None:
    """Return -1, 0 or 1 for each output of a product that writes `output`, as the gain behind it asks; None if all are 1.

    The gain is a BatchNormalization, Mul or Div with constants that alone reads the product, perhaps
    transposed. It is told in `lowering.flips`.
    """
    if lowering.strict:
        return None
    users = lowering.graph.consumers.get(output, ())
    if output in lowering.graph.outputs or len(users) != 1 or users[0].domain:
        return None
    (user,) = users
    if user.op == "Transpose":
        return output_signs(lowering, user.outputs[0], outputs)
    gains = _gains(lowering, user, output)
    if gains is None or gains.size not in (1, outputs):
        return None
    signs = np.broadcast_to(np.sign(gains.reshape(-1)), (outputs,)).astype(np.int64)
    if (signs == 1).all():
        return None
    lowering.flips[output] = signs if gains.size > 1 else signs[:1]
    return signs


def _gains(lowering: Lowering, user: FileNode, output: str) -> np.ndarray | None:
    if user.op == "BatchNormalization":
        arrays = [_constant(lowering, name) for name in user.inputs[1:5]]
        known = [array for array in arrays if array is not None]
        return affine_of(known, user.number("epsilon", 1e-5))[0] if len(known) == 4 else None
    if user.op not in ("Mul", "Div") or len(user.inputs) != 2 or (user.op == "Div" and user.inputs[0] != output):
        return None
    return _constant(lowering, user.inputs[1 - user.inputs.index(output)])


def _constant(lowering: Lowering, name: str) -> np.ndarray | None:
    value = lowering.values.get(name)
    return value.values() if isinstance(value, Grid) else value if isinstance(value, np.ndarray) else None
