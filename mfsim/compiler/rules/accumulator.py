"""Accumulator: a word for a sum, on the grid that the sum has."""

from __future__ import annotations

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import exponents_of
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.quantizer import word_length
from mfsim.errors import FormatError
from mfsim.formats import MAX_BITS, Scale

BITS = range(2, MAX_BITS + 1)


def accumulator(lowering: Lowering, node: FileNode) -> None:
    """Emit accumulator; its scale must be that of what it holds."""
    x = lowering.tensor(node, 0)
    scale, bit_width = lowering.array(node, 1, "the scale"), lowering.array(node, 2, "the bit width")
    gain, axis = along_axis(scale, x.shape, "the scale")
    exponents = tuple(int(e) for e in exponents_of(gain, "the scale"))
    stated = Scale(exponents, None if axis < 0 else axis)
    if stated != x.scale:
        raise FormatError(f"the scale must be that of the sum, {x.scale}, not {stated}")
    attributes = {name: node.attributes[name] for name in ("signed", "overflow") if name in node.attributes}
    lowering.emit(node, "accumulator", [x.name], attributes | {"bits": word_length(bit_width, BITS)})


RULES = {("org.mfsim", "Accumulator"): accumulator}
