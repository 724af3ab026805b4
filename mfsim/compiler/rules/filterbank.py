"""Filterbank: gains quantized on a stated grid, derived stages and factors; the program has cosines and guard bits."""

from __future__ import annotations

import numpy as np

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rules.root_norms import channel_codes
from mfsim.derived import filterbank as constants
from mfsim.derived.dft import cosines
from mfsim.errors import FormatError
from mfsim.formats import Scale


def filterbank(lowering: Lowering, node: FileNode) -> None:
    """Emit filterbank, after the stages were found to be those of its cosines."""
    x = stated.scaled_input(lowering, node)
    gains = channel_codes(lowering, node, 2, "the gains", stated.scale(lowering, node, 3, "the scale of the gains"))
    grid, given = lowering.builder.tensors[gains].shape[-1], stated.table(lowering, node, 6, "the factors")
    if len(given) < 2 or given.min() < 1:
        raise FormatError("the factors must be positive, and begin with those of cosines and guard bits")
    bits, guard = (int(factor).bit_length() - 1 for factor in given[:2])
    fraction = -stated.power(lowering, node, 7, "the scale of the result")
    places, weights = constants.stages(grid, bits)
    expected = {
        4: ("the places", places),
        5: ("the weights", weights),
        6: ("the factors", constants.factors(grid, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(stated.integers(lowering, node, k, what), np.array(values)):
            raise FormatError(
                f"{what} must be those of a filterbank of {grid} x {grid} patches with {bits} bits of cosines"
            )
    table = lowering.constant(f"{node.outputs[0]}.cosines", np.array(cosines(grid, bits)), Scale.of(-bits))
    attributes = {
        "fraction": fraction,
        "guard": guard,
        "passing": node.integer("passing", 0),
        "products": node.attributes.get("products", "mul"),
    }
    lowering.emit(node, "filterbank", [x.name, table, gains], attributes)


RULES = {("org.mfsim", "Filterbank"): filterbank}
