"""DFTMagnitude: stages, bins and factors are derived integers; the program has cosines and guard bits."""

from __future__ import annotations

import numpy as np

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.derived import dft
from mfsim.errors import FormatError
from mfsim.formats import Scale


def dft_magnitude(lowering: Lowering, node: FileNode) -> None:
    """Emit dft_magnitude, after the stages were found to be those of its cosines."""
    x = stated.scaled_input(lowering, node)
    n, factors = int(x.shape[-1]), stated.table(lowering, node, 5, "the factors")
    if len(factors) < 2 or factors.min() < 1:
        raise FormatError("the factors must be positive, and begin with those of cosines and guard bits")
    bits, guard = (int(factor).bit_length() - 1 for factor in factors[:2])
    fraction = -stated.power(lowering, node, 6, "the scale of the result")
    table = np.array(dft.cosines(n, bits))
    places, weights = dft.stages(n, bits)
    expected = {
        2: ("the places", places),
        3: ("the weights", weights),
        4: ("the bins", dft.bins(n)),
        5: ("the factors", dft.factors(n, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(stated.integers(lowering, node, k, what), np.array(values)):
            raise FormatError(f"{what} must be those of a transform of {n} codes with {bits} bits of cosines")
    cosines = lowering.constant(f"{node.outputs[0]}.cosines", table, Scale.of(-bits))
    lowering.emit(node, "dft_magnitude", [x.name, cosines], {"fraction": fraction, "guard": guard})


RULES = {("org.mfsim", "DFTMagnitude"): dft_magnitude}
