"""Transpose, Concat, Slice, Pad: data moves inside each sample; the batch stays axis 0."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import exact_grid
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rescaling import near_code, on_one_grid
from mfsim.errors import FormatError, ShapeError, UnsupportedOpError


def transpose(lowering: Lowering, node: FileNode) -> None:
    """Transpose with the batch in place."""
    x = lowering.tensor(node, 0)
    perm = node.integers("perm", tuple(range(len(x.shape) - 1, -1, -1)))
    if perm[:1] != (0,):
        raise ShapeError(f"`perm` must keep axis 0, the batch, in place, not {perm}")
    lowering.emit(node, "transpose", [x.name], {"perm": perm})


def concat(lowering: Lowering, node: FileNode) -> None:
    """Concat along an axis behind the batch."""
    tensors = on_one_grid(lowering, node, [lowering.tensor(node, k) for k in range(len(node.inputs))])
    rank = len(tensors[0].shape)
    axis = _axis(node.integer("axis", 0), rank)
    lowering.emit(node, "concat", [tensor.name for tensor in tensors], {"axis": axis})


def slice_(lowering: Lowering, node: FileNode) -> None:
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


def pad(lowering: Lowering, node: FileNode) -> None:
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


RULES = {("", "Transpose"): transpose, ("", "Concat"): concat, ("", "Slice"): slice_, ("", "Pad"): pad}
