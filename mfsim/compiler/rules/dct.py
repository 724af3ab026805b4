"""DCT: stages and factors are derived integers; the program has multipliers and guard bits."""

from __future__ import annotations

import numpy as np

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.derived import dct as constants
from mfsim.errors import FormatError
from mfsim.formats import Scale


def dct(lowering: Lowering, node: FileNode) -> None:
    """Emit dct, after the stages were found to be those of its multipliers."""
    x = stated.scaled_input(lowering, node)
    n, given = int(x.shape[-1]), stated.table(lowering, node, 4, "the factors")
    if len(given) < 2 or given.min() < 1:
        raise FormatError("the factors must be positive, and begin with those of multipliers and guard bits")
    bits, guard = (int(factor).bit_length() - 1 for factor in given[:2])
    fraction = -stated.power(lowering, node, 5, "the scale of the result")
    table = np.array(constants.multipliers(n, bits))
    places, weights = constants.stages(n, bits)
    expected = {
        2: ("the places", places),
        3: ("the weights", weights),
        4: ("the factors", constants.factors(n, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(stated.integers(lowering, node, k, what), np.array(values)):
            raise FormatError(f"{what} must be those of a transform of {n} codes with {bits} bits of multipliers")
    multipliers = lowering.constant(f"{node.outputs[0]}.multipliers", table, Scale.of(-bits))
    attributes = {"fraction": fraction, "guard": guard, "products": node.attributes.get("products", "mul")}
    lowering.emit(node, "dct", [x.name, multipliers], attributes)


RULES = {("org.mfsim", "DCT"): dct}
