"""DFTMagnitude, DFTAlphaBeta: stages, bins and factors are derived integers; the program has cosines and guard bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.derived import dft
from mfsim.errors import FormatError
from mfsim.formats import Scale


def _transform(lowering: Lowering, node: FileNode, op: str, factors_of: Callable[..., tuple[int, ...]]) -> None:
    """Emit `op`, after the stages were found to be those of its cosines."""
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
        5: ("the factors", factors_of(n, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(stated.integers(lowering, node, k, what), np.array(values)):
            raise FormatError(f"{what} must be those of a transform of {n} codes with {bits} bits of cosines")
    cosines = lowering.constant(f"{node.outputs[0]}.cosines", table, Scale.of(-bits))
    products = {"products": node.attributes.get("products", "mul")} if op == "dft_alpha_beta" else {}
    lowering.emit(node, op, [x.name, cosines], {"fraction": fraction, "guard": guard, **products})


def dft_magnitude(lowering: Lowering, node: FileNode) -> None:
    """Emit dft_magnitude."""
    _transform(lowering, node, "dft_magnitude", dft.factors)


def dft_alpha_beta(lowering: Lowering, node: FileNode) -> None:
    """Emit dft_alpha_beta."""
    _transform(lowering, node, "dft_alpha_beta", dft.estimate_factors)


RULES = {("org.mfsim", "DFTMagnitude"): dft_magnitude, ("org.mfsim", "DFTAlphaBeta"): dft_alpha_beta}
