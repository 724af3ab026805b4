"""CsdGain: constants are exact numbers, each on the coarsest power-of-two grid that holds it and its neighbours."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import fractions, int64
from mfsim.compiler.lowering import Lowering
from mfsim.formats import Scale


def csd_gain(lowering: Lowering, node: FileNode) -> None:
    """Emit csd_gain with the codes of the constants; the op refuses those with too many digits."""
    x = lowering.tensor(node, 0)
    values, axis = along_axis(lowering.array(node, 1, "the gain"), x.shape, "the gain")
    exact = fractions(values)
    finest = max(value.denominator.bit_length() - 1 for value in exact)
    codes = int64(np.array([int(value * 2**finest) for value in exact], dtype=object))
    places = min((int(code & -code).bit_length() - 1 for code in codes if code), default=0)
    c = lowering.constant(node.inputs[1], codes >> places, Scale.of(places - finest))
    lowering.emit(node, "csd_gain", [x.name, c], {"digits": node.integer("digits", 1), "axis": axis})


RULES = {("org.mfsim", "CsdGain"): csd_gain}
