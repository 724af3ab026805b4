"""Compiler rules of the layout ops."""

from __future__ import annotations

import math

import numpy as np

from mfsim.compiler.frontend.graph import BATCH, FileNode
from mfsim.compiler.lower.grid import Grid, exact_grid
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.rescaling import near_code, on_one_grid
from mfsim.errors import FormatError, ShapeError, UnsupportedOpError
from mfsim.ir.formats import Scale
from mfsim.ir.program import Tensor

# Transpose, Concat, Slice, Pad: data moves inside each sample; the batch stays axis 0.


def _transpose(lowering: Lowering, node: FileNode) -> None:
    """Transpose with the batch in place."""
    x = lowering.tensor(node, 0)
    perm = node.integers("perm", tuple(range(len(x.shape) - 1, -1, -1)))
    if perm[:1] != (0,):
        raise ShapeError(f"`perm` must keep axis 0, the batch, in place, not {perm}")
    lowering.emit(node, "transpose", [x.name], {"perm": perm})


def _concat(lowering: Lowering, node: FileNode) -> None:
    """Concat along an axis behind the batch."""
    tensors = on_one_grid(lowering, node, [lowering.tensor(node, k) for k in range(len(node.inputs))])
    rank = len(tensors[0].shape)
    axis = _axis(node.integer("axis", 0), rank)
    lowering.emit(node, "concat", [tensor.name for tensor in tensors], {"axis": axis})


def _slice_(lowering: Lowering, node: FileNode) -> None:
    """Slice; axes that stay whole fall away, and if all do, nothing is left to do."""
    x = lowering.tensor(node, 0)
    rank = len(x.shape)
    starts, ends = lowering.ints(node, 1, "the starts"), lowering.ints(node, 2, "the ends")
    axes = lowering.optional_ints(node, 3, "the axes") or tuple(range(len(starts)))
    steps = lowering.optional_ints(node, 4, "the steps") or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ShapeError("there must be as many starts as ends, axes and steps")
    cuts = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = axis + rank if axis < 0 else axis
        if axis == 0:
            if (start, step) != (0, 1) or end < 2**31 - 1:
                raise ShapeError("axis 0, the batch, cannot be sliced")
            continue
        if not 0 < axis < rank:
            raise ShapeError(f"axis {axis} must be in 1..{rank - 1}")
        if step == 0:
            raise ShapeError("a step must not be 0")
        first, last, _ = slice(start, end, step).indices(x.shape[axis])
        if not range(first, last, step):
            raise ShapeError(f"a slice of {start}..{end} leaves nothing of axis {axis} of {x.shape[axis]}")
        if (first, last, step) != (0, x.shape[axis], 1):
            cuts.append((axis, first, last, step))
    if not cuts:
        lowering.alias(node, x.name)
        return
    names = ("axes", "starts", "ends", "steps")
    lowering.emit(node, "slice", [x.name], dict(zip(names, zip(*sorted(cuts), strict=True), strict=True)))


def _pad(lowering: Lowering, node: FileNode) -> None:
    """Pad with a constant on the scale of x."""
    x = lowering.tensor(node, 0)
    rank = len(x.shape)
    if node.text("mode", "constant") != "constant":
        raise UnsupportedOpError(f"`mode` must be constant, not {node.text('mode', '')}")
    given, axes = lowering.ints(node, 1, "the pads"), lowering.optional_ints(node, 3, "the axes")
    axes = tuple(range(rank)) if axes is None else tuple(axis % rank for axis in axes)
    if len(given) != 2 * len(axes):
        raise ShapeError(f"the pads must be {2 * len(axes)} ints, not {len(given)}")
    pads = [0] * (2 * rank)
    for k, axis in enumerate(axes):
        pads[axis], pads[axis + rank] = given[k], given[k + len(axes)]
    if pads[0] or pads[rank]:
        raise ShapeError("axis 0, the batch, cannot be padded")
    if min(pads) < 0:
        raise UnsupportedOpError("pads must be at least 0; use a Slice to cut")
    value = lowering.optional_array(node, 2, "the padding")
    code = 0
    if value is not None and (value != 0).any():
        if not lowering.strict:
            code = near_code(lowering, node, x, value, "the padding")
            lowering.emit(node, "pad", [x.name], {"pads": tuple(pads), "value": code})
            return
        try:
            code = int(exact_grid(value, x.scale.exponent).codes.reshape(-1)[0])
        except FormatError as error:
            raise FormatError(f"the padding must lie on the scale of x: {error}") from error
    lowering.emit(node, "pad", [x.name], {"pads": tuple(pads), "value": code})


def _axis(axis: int, rank: int) -> int:
    axis = axis + rank if axis < 0 else axis
    if not 0 < axis < rank:
        raise ShapeError(f"`axis` must be in 1..{rank - 1}, not {axis}; axis 0 is the batch")
    return axis


LAYOUT_RULES = {("", "Transpose"): _transpose, ("", "Concat"): _concat, ("", "Slice"): _slice_, ("", "Pad"): _pad}

# Reshape, Flatten, Squeeze, Unsqueeze: new shapes for each sample; the batch stays axis 0. Shape: constants.

MOVES = "moves data between samples or moves the batch away from axis 0"


def _reshape(lowering: Lowering, node: FileNode) -> None:
    """Reshape to a constant shape, which may copy (0), infer (-1) or compute the batch size."""
    x = lowering.tensor(node, 0)
    wanted = lowering.ints(node, 1, "the shape")
    _emit(lowering, node, _sample_shape(x.shape, wanted, bool(node.integer("allowzero", 0)), lowering.graph.batch))


def _sample_shape(
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


def _flatten(lowering: Lowering, node: FileNode) -> None:
    """Flatten each sample."""
    x = lowering.tensor(node, 0)
    axis = node.integer("axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    if axis < 1 or math.prod(x.shape[1:axis]) != 1:
        raise ShapeError(f"`axis` must be 1, not {node.integer('axis', 1)}: a Flatten there {MOVES}")
    lowering.emit(node, "flatten", [x.name])


def _squeeze(lowering: Lowering, node: FileNode) -> None:
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


def _unsqueeze(lowering: Lowering, node: FileNode) -> None:
    """Insert axes of size 1 behind the batch."""
    x = lowering.tensor(node, 0)
    axes = lowering.ints(node, 1, "the axes")
    rank = len(x.shape) + len(axes)
    places = {axis % rank for axis in axes}
    if 0 in places or len(places) != len(axes):
        raise ShapeError(f"the axes {sorted(axes)} must differ, and none may be in front of the batch")
    sizes = iter(x.shape[1:])
    _emit(lowering, node, tuple(1 if axis in places else next(sizes) for axis in range(1, rank)))


def _shape(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the constant shape, with `BATCH` for the batch size."""
    x = lowering.tensor(node, 0)
    full = (BATCH, *x.shape[1:])
    lowering.alias(node, np.array(full[node.integer("start", 0) : node.integer("end", len(full))], dtype=np.int64))


def _emit(lowering: Lowering, node: FileNode, sample: tuple[int, ...]) -> None:
    lowering.emit(node, "reshape", [lowering.tensor(node, 0).name], {"shape": sample})


def _shown(wanted: tuple[int, ...]) -> str:
    return f"[{', '.join('batch' if n == BATCH else str(n) for n in wanted)}]"


RESHAPE_RULES = {
    ("", "Reshape"): _reshape,
    ("", "Flatten"): _flatten,
    ("", "Squeeze"): _squeeze,
    ("", "Unsqueeze"): _unsqueeze,
    ("", "Shape"): _shape,
}


# Gather: parts of each sample by constant indices, or rows of a constant by codes. Split: parts of each sample.
#
# The batch stays axis 0.


def _gather(lowering: Lowering, node: FileNode) -> None:
    """Gather along an axis behind the batch: a slice for each run of indices with one step; one index drops the axis."""
    if not lowering.is_activation(node, 0) and lowering.is_activation(node, 1):
        _embedding(lowering, node)
        return
    x = lowering.tensor(node, 0)
    axis = _sample_axis(node.integer("axis", 0), x)
    indices = lowering.array(node, 1, "the indices")
    size = x.shape[axis]
    if indices.ndim > 1 or indices.size == 0:
        raise UnsupportedOpError(f"the indices must be one int or one row of ints, not of the shape {indices.shape}")
    places = [int(i) + size if i < 0 else int(i) for i in indices.reshape(-1)]
    for place in places:
        if not 0 <= place < size:
            raise ShapeError(f"the indices must be in {-size}..{size - 1}, and one is {place}")
    parts = [_cut(lowering, node, x, axis, run) for run in _runs(places)]
    name = parts[0] if len(parts) == 1 else lowering.inner(node, "concat", parts, {"axis": axis})
    rest = list(lowering.builder.tensors[name].shape[1:])
    if indices.ndim == 0:
        del rest[axis - 1]
    lowering.emit(node, "reshape", [name], {"shape": tuple(rest)})


def _embedding(lowering: Lowering, node: FileNode) -> None:
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


def _cut(lowering: Lowering, node: FileNode, x: Tensor, axis: int, places: range, output: str | None = None) -> str:
    """Return the `places` of `axis` of x, as the value `output` of the file or an inner one; x itself if they are all."""
    if places == range(x.shape[axis]) and output is None:
        return x.name
    names = ("axes", "starts", "ends", "steps")
    attributes = {n: (v,) for n, v in zip(names, (axis, places.start, places.stop, places.step), strict=True)}
    if output is None:
        return lowering.inner(node, "slice", [x.name], attributes)
    return lowering.emit(node, "slice", [x.name], attributes, output=output)


def _split(lowering: Lowering, node: FileNode) -> None:
    """Split along an axis behind the batch: one slice for each output."""
    x = lowering.tensor(node, 0)
    axis = _sample_axis(node.integer("axis", 0), x)
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
            _cut(lowering, node, x, axis, range(start, end), output)


def _sample_axis(axis: int, x: Tensor) -> int:
    """Return `axis` of x counted from the front; a `ShapeError` if it is the batch or x has none."""
    rank = len(x.shape)
    found = axis + rank if axis < 0 else axis
    if not 0 < found < rank:
        raise ShapeError(f"`axis` must be in 1..{rank - 1}, not {axis}; axis 0 is the batch")
    return found


GATHER_RULES = {("", "Gather"): _gather, ("", "Split"): _split}

RULES = LAYOUT_RULES | RESHAPE_RULES | GATHER_RULES
