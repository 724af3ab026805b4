"""BatchNormalization: a gain for each channel, which relabels the grid, and an offset."""

from __future__ import annotations

from mfsim.compiler.foreign import affine_of
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rescaling import gained, with_offset
from mfsim.errors import ShapeError, UnsupportedOpError


def batch_norm(lowering: Lowering, node: FileNode) -> None:
    """Multiply and add along axis 1, with the statistics that the file holds."""
    if node.integer("training_mode", 0):
        raise UnsupportedOpError("`training_mode` must be 0; export the model in eval mode")
    x = lowering.tensor(node, 0)
    names = ("the scale", "the bias", "the mean", "the variance")
    parameters = [lowering.array(node, k + 1, what).reshape(-1) for k, what in enumerate(names)]
    gain, offset = affine_of(parameters, node.number("epsilon", 1e-5))
    if len(x.shape) < 2 or gain.size != x.shape[1]:
        raise ShapeError(f"there must be one gain for each of the channels of {x.shape}, not {gain.size}")
    x = gained(lowering, node, 0, x, gain, 1, None)
    with_offset(lowering, node, x, offset.reshape(-1, *[1] * (len(x.shape) - 2)), "the offset")


FOREIGN_RULES = {("", "BatchNormalization"): batch_norm}
