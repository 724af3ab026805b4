"""MaxPool over planes; padded places never win."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.windows import window


def max_pool(lowering: Lowering, node: FileNode) -> None:
    """Emit max_pool2d with the window of the node."""
    x = lowering.tensor(node, 0)
    lowering.emit(node, "max_pool2d", [x.name], window(node, (), None if lowering.strict else x.shape[2:]))


RULES = {("", "MaxPool"): max_pool}
