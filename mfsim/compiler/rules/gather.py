"""Gather: parts of each sample by constant indices, or rows of a constant by codes. Split: parts of each sample.

The batch stays axis 0.
"""

from __future__ import annotations

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid, exact_grid
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError, ShapeError, UnsupportedOpError
from mfsim.formats import Scale
from mfsim.program import Tensor


def gather(lowering: Lowering, node: FileNode) -> None:
    """Gather along an axis behind the batch: a slice for each run of indices with one step; one index drops the axis."""
    if not lowering.is_activation(node, 0) and lowering.is_activation(node, 1):
        embedding(lowering, node)
        return
    x = lowering.tensor(node, 0)
    axis = sample_axis(node.integer("axis", 0), x)
    indices = lowering.array(node, 1, "the indices")
    size = x.shape[axis]
    if indices.ndim > 1 or indices.size == 0:
        raise UnsupportedOpError(f"the indices must be one int or one row of ints, not of the shape {indices.shape}")
    places = [int(i) + size if i < 0 else int(i) for i in indices.reshape(-1)]
    for place in places:
        if not 0 <= place < size:
            raise ShapeError(f"the indices must be in {-size}..{size - 1}, and one is {place}")
    parts = [cut(lowering, node, x, axis, run) for run in _runs(places)]
    name = parts[0] if len(parts) == 1 else lowering.inner(node, "concat", parts, {"axis": axis})
    rest = list(lowering.builder.tensors[name].shape[1:])
    if indices.ndim == 0:
        del rest[axis - 1]
    lowering.emit(node, "reshape", [name], {"shape": tuple(rest)})


def embedding(lowering: Lowering, node: FileNode) -> None:
    """Emit embedding: the rows of a constant that an activation of whole numbers, on the scale 1, numbers."""
    numbers, value = lowering.tensor(node, 1), lowering.value(node, 0)
    if numbers.scale != Scale():
        raise FormatError(f"the indices must lie on the scale 1, not {numbers.scale}")
    table = value if isinstance(value, Grid) else exact_grid(lowering.array(node, 0, "the rows"), 0)
    if node.integer("axis", 0) not in (0, -table.codes.ndim):
        raise UnsupportedOpError(f"`axis` must be 0 where the indices are an activation, not {node.integer('axis', 0)}")
    exponents = np.unique(table.exponents)
    if exponents.size != 1 or table.factors is not None:
        raise FormatError("the rows must have one scale, a power of two")
    rows = lowering.constant(node.inputs[0], table.codes, Scale.of(int(exponents[0])))
    lowering.emit(node, "embedding", [numbers.name, rows])


def _runs(places: list[int]) -> list[range]:
    """Return `places` as the fewest ranges in a row."""
    runs: list[range] = []
    start = 0
    while start < len(places):
        end, step = start + 1, 1
        if end < len(places) and places[end] != places[start]:
            step = places[end] - places[start]
            while end < len(places) and places[end] - places[end - 1] == step:
                end += 1
        runs.append(range(places[start], places[end - 1] + step, step))
        start = end
    return runs


def cut(lowering: Lowering, node: FileNode, x: Tensor, axis: int, places: range, output: str | None = None) -> str:
    """Return the `places` of `axis` of x, as the value `output` of the file or an inner one; x itself if they are all."""
    if places == range(x.shape[axis]) and output is None:
        return x.name
    names = ("axes", "starts", "ends", "steps")
    attributes = {n: (v,) for n, v in zip(names, (axis, places.start, places.stop, places.step), strict=True)}
    if output is None:
        return lowering.inner(node, "slice", [x.name], attributes)
    return lowering.emit(node, "slice", [x.name], attributes, output=output)


def split(lowering: Lowering, node: FileNode) -> None:
    """Split along an axis behind the batch: one slice for each output."""
    x = lowering.tensor(node, 0)
    axis = sample_axis(node.integer("axis", 0), x)
    size, count = x.shape[axis], len(node.outputs)
    sizes = lowering.optional_ints(node, 1, "the sizes")
    if sizes is None:
        most = -(-size // count)
        sizes = (*[most] * (count - 1), size - most * (count - 1))
    if len(sizes) != count or sum(sizes) != size or min(sizes) < 1:
        raise ShapeError(f"axis {axis} of {size} cannot be split into {count} parts of the sizes {list(sizes)}")
    ends = np.cumsum(sizes).tolist()
    for output, start, end in zip(node.outputs, [0, *ends], ends, strict=False):
        if output:
            cut(lowering, node, x, axis, range(start, end), output)


def sample_axis(axis: int, x: Tensor) -> int:
    """Return `axis` of x counted from the front; a `ShapeError` if it is the batch or x has none."""
    rank = len(x.shape)
    found = axis + rank if axis < 0 else axis
    if not 0 < found < rank:
        raise ShapeError(f"`axis` must be in 1..{rank - 1}, not {axis}; axis 0 is the batch")
    return found


RULES = {("", "Gather"): gather, ("", "Split"): split}
