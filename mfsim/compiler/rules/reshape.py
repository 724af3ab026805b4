"""Reshape, Flatten, Squeeze, Unsqueeze: new shapes for each sample; the batch stays axis 0. Shape: constants."""

from __future__ import annotations

import math

import numpy as np

from mfsim.compiler.graph import BATCH, FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.errors import ShapeError

MOVES = "moves data between samples or moves the batch away from axis 0"


def reshape(lowering: Lowering, node: FileNode) -> None:
    """Reshape to a constant shape, which may copy (0), infer (-1) or compute the batch size."""
    x = lowering.tensor(node, 0)
    wanted = lowering.ints(node, 1, "the shape")
    _emit(lowering, node, sample_shape(x.shape, wanted, bool(node.integer("allowzero", 0)), lowering.graph.batch))


def sample_shape(
    shape: tuple[int, ...], wanted: tuple[int, ...], allowzero: bool, batch: int | None
) -> tuple[int, ...]:
    """Return the shape of a sample after a Reshape of `shape` (batch first) to `wanted`.

    `batch` is the batch size that the file fixes, or None. Raises `ShapeError` if samples mix.
    """
    size = math.prod(shape[1:])
    first, rest = (wanted[0], list(wanted[1:])) if wanted else (1, [])
    for axis, n in enumerate(rest, 1):
        if n == 0 and not allowzero:
            if axis >= len(shape):
                raise ShapeError(f"entry {axis} of the shape is 0 and copies an axis that x does not have")
            rest[axis - 1] = shape[axis]
    inferred = [k for k, n in enumerate(rest) if n == -1]
    keeps = first in (BATCH, -1) or (first == 0 and not allowzero) or (batch is not None and first == batch)
    if not keeps or len(inferred) + (first == -1) > 1 or any(n < -1 for n in rest):
        raise ShapeError(f"a Reshape to {_shown(wanted)} {MOVES}")
    for k in inferred:
        known = math.prod(n for n in rest if n != -1)
        rest[k] = size // known if known else 0
    if math.prod(rest) != size:
        raise ShapeError(f"a Reshape of {_shown((BATCH, *shape[1:]))} to {_shown(wanted)} {MOVES}")
    return tuple(rest)


def flatten(lowering: Lowering, node: FileNode) -> None:
    """Flatten each sample."""
    x = lowering.tensor(node, 0)
    axis = node.integer("axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    if axis < 1 or math.prod(x.shape[1:axis]) != 1:
        raise ShapeError(f"`axis` must be 1, not {node.integer('axis', 1)}: a Flatten there {MOVES}")
    lowering.emit(node, "flatten", [x.name])


def squeeze(lowering: Lowering, node: FileNode) -> None:
    """Squeeze axes of size 1, never the batch."""
    x = lowering.tensor(node, 0)
    axes = lowering.optional_ints(node, 1, "the axes")
    rank = len(x.shape)
    if axes is None:
        axes = tuple(axis for axis in range(1, rank) if x.shape[axis] == 1)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if 0 in places or any(x.shape[axis] != 1 for axis in places):
        raise ShapeError(
            f"the axes {sorted(places)} of {_shown((BATCH, *x.shape[1:]))} must be of size 1 and not the batch"
        )
    _emit(lowering, node, tuple(n for axis, n in enumerate(x.shape) if axis > 0 and axis not in places))


def unsqueeze(lowering: Lowering, node: FileNode) -> None:
    """Insert axes of size 1 behind the batch."""
    x = lowering.tensor(node, 0)
    axes = lowering.ints(node, 1, "the axes")
    rank = len(x.shape) + len(axes)
    places = {axis % rank for axis in axes}
    if 0 in places or len(places) != len(axes):
        raise ShapeError(f"the axes {sorted(axes)} must differ, and none may be in front of the batch")
    sizes = iter(x.shape[1:])
    _emit(lowering, node, tuple(1 if axis in places else next(sizes) for axis in range(1, rank)))


def shape(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the constant shape, with `BATCH` for the batch size."""
    x = lowering.tensor(node, 0)
    full = (BATCH, *x.shape[1:])
    lowering.alias(node, np.array(full[node.integer("start", 0) : node.integer("end", len(full))], dtype=np.int64))


def _emit(lowering: Lowering, node: FileNode, sample: tuple[int, ...]) -> None:
    lowering.emit(node, "reshape", [lowering.tensor(node, 0).name], {"shape": sample})


def _shown(wanted: tuple[int, ...]) -> str:
    return f"[{', '.join('batch' if n == BATCH else str(n) for n in wanted)}]"


RULES = {
    ("", "Reshape"): reshape,
    ("", "Flatten"): flatten,
    ("", "Squeeze"): squeeze,
    ("", "Unsqueeze"): unsqueeze,
    ("", "Shape"): shape,
}
