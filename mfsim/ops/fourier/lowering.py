"""Compiler rules of the fixed-point Fourier and cosine transforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import (
    channel_codes,
    integers,
    scaled_input,
    stated_power,
    stated_scale,
    stated_table,
)
from mfsim.errors import FormatError
from mfsim.ir.formats import Scale
from mfsim.ops.fourier import dct_tables, dft_tables, filterbank_tables
from mfsim.ops.fourier.dft_tables import cosines

# DCT: stages and factors are derived integers; the program has multipliers and guard bits.


def _dct(lowering: Lowering, node: FileNode) -> None:
    """Emit dct, after the stages were found to be those of its multipliers."""
    x = scaled_input(lowering, node)
    n, given = int(x.shape[-1]), stated_table(lowering, node, 4, "the factors")
    if len(given) < 2 or given.min() < 1:
        raise FormatError("the factors must be positive, and begin with those of multipliers and guard bits")
    bits, guard = (int(factor).bit_length() - 1 for factor in given[:2])
    fraction = -stated_power(lowering, node, 5, "the scale of the result")
    table = np.array(dct_tables.multipliers(n, bits))
    places, weights = dct_tables.stages(n, bits)
    expected = {
        2: ("the places", places),
        3: ("the weights", weights),
        4: ("the factors", dct_tables.factors(n, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(integers(lowering, node, k, what), np.array(values)):
            raise FormatError(f"{what} must be those of a transform of {n} codes with {bits} bits of multipliers")
    multipliers = lowering.constant(f"{node.outputs[0]}.multipliers", table, Scale.of(-bits))
    attributes = {"fraction": fraction, "guard": guard, "products": node.attributes.get("products", "mul")}
    lowering.emit(node, "dct", [x.name, multipliers], attributes)


DCT_RULES = {("org.mfsim", "DCT"): _dct}


# DFTMagnitude, DFTAlphaBeta: stages, bins and factors are derived integers; the program has cosines and guard bits.


def _transform(lowering: Lowering, node: FileNode, op: str, factors_of: Callable[..., tuple[int, ...]]) -> None:
    """Emit `op`, after the stages were found to be those of its cosines."""
    x = scaled_input(lowering, node)
    n, factors = int(x.shape[-1]), stated_table(lowering, node, 5, "the factors")
    if len(factors) < 2 or factors.min() < 1:
        raise FormatError("the factors must be positive, and begin with those of cosines and guard bits")
    bits, guard = (int(factor).bit_length() - 1 for factor in factors[:2])
    fraction = -stated_power(lowering, node, 6, "the scale of the result")
    table = np.array(dft_tables.cosines(n, bits))
    places, weights = dft_tables.stages(n, bits)
    expected = {
        2: ("the places", places),
        3: ("the weights", weights),
        4: ("the bins", dft_tables.bins(n)),
        5: ("the factors", factors_of(n, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(integers(lowering, node, k, what), np.array(values)):
            raise FormatError(f"{what} must be those of a transform of {n} codes with {bits} bits of cosines")
    cosines = lowering.constant(f"{node.outputs[0]}.cosines", table, Scale.of(-bits))
    products = {"products": node.attributes.get("products", "mul")} if op == "dft_alpha_beta" else {}
    lowering.emit(node, op, [x.name, cosines], {"fraction": fraction, "guard": guard, **products})


def _dft_magnitude(lowering: Lowering, node: FileNode) -> None:
    """Emit dft_magnitude."""
    _transform(lowering, node, "dft_magnitude", dft_tables.factors)


def _dft_alpha_beta(lowering: Lowering, node: FileNode) -> None:
    """Emit dft_alpha_beta."""
    _transform(lowering, node, "dft_alpha_beta", dft_tables.estimate_factors)


DFT_MAGNITUDE_RULES = {("org.mfsim", "DFTMagnitude"): _dft_magnitude, ("org.mfsim", "DFTAlphaBeta"): _dft_alpha_beta}


# Filterbank: gains quantized on a stated grid, derived stages and factors; the program has cosines and guard bits.


def _filterbank(lowering: Lowering, node: FileNode) -> None:
    """Emit filterbank, after the stages were found to be those of its cosines."""
    x = scaled_input(lowering, node)
    gains = channel_codes(lowering, node, 2, "the gains", stated_scale(lowering, node, 3, "the scale of the gains"))
    grid, given = lowering.builder.tensors[gains].shape[-1], stated_table(lowering, node, 6, "the factors")
    if len(given) < 2 or given.min() < 1:
        raise FormatError("the factors must be positive, and begin with those of cosines and guard bits")
    bits, guard = (int(factor).bit_length() - 1 for factor in given[:2])
    fraction = -stated_power(lowering, node, 7, "the scale of the result")
    places, weights = filterbank_tables.stages(grid, bits)
    expected = {
        4: ("the places", places),
        5: ("the weights", weights),
        6: ("the factors", filterbank_tables.factors(grid, guard, fraction, x.scale.exponent, bits)),
    }
    for k, (what, values) in expected.items():
        if not np.array_equal(integers(lowering, node, k, what), np.array(values)):
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


FILTERBANK_RULES = {("org.mfsim", "Filterbank"): _filterbank}

RULES = DCT_RULES | DFT_MAGNITUDE_RULES | FILTERBANK_RULES
