"""ShiftNormL1, ShiftNormL2: gains that are powers of two, beta quantized on the grid of the result."""

from __future__ import annotations

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rules.root_norms import channel_codes
from mfsim.derived.norms import GAIN_PLACES
from mfsim.errors import FormatError
from mfsim.formats import Scale


def _shift_norm(lowering: Lowering, node: FileNode, op: str) -> None:
    x = stated.scaled_input(lowering, node)
    gains = [int(gain) for gain in stated.table(lowering, node, 2, "the gain")]
    wrong = [gain for gain in gains if gain < 1 or gain & (gain - 1)]
    if wrong:
        raise FormatError(f"the gain must hold powers of two, not {wrong[0]}")
    fraction = -stated.power(lowering, node, 5, "the scale of the result")
    steps = lowering.constant(node.inputs[4], stated.table(lowering, node, 4, "the thresholds"), Scale())
    beta = channel_codes(lowering, node, 3, "beta", Scale.of(-fraction))
    exponents = tuple(gain.bit_length() - 1 - GAIN_PLACES for gain in gains)
    lowering.emit(node, op, [x.name, steps, beta], {"fraction": fraction, "exponents": exponents})


def shift_norm_l1(lowering: Lowering, node: FileNode) -> None:
    """Emit shift_norm_l1."""
    _shift_norm(lowering, node, "shift_norm_l1")


def shift_norm_l2(lowering: Lowering, node: FileNode) -> None:
    """Emit shift_norm_l2."""
    _shift_norm(lowering, node, "shift_norm_l2")


RULES = {("org.mfsim", "ShiftNormL1"): shift_norm_l1, ("org.mfsim", "ShiftNormL2"): shift_norm_l2}
