"""`QuantTanhL1`: tanh of rows of codes over their sum of magnitudes, in one of the forms of its ops."""

from __future__ import annotations

import torch

from mfsim.derived import tanh_l1 as constants
from mfsim.nn import TanhL1
from mfsim.nn.integer.tanh_l1 import tanh_l1, tanh_l1_shift
from mfsim.quant.nonlinear.softmax import QuantNormaliser


class QuantTanhL1(QuantNormaliser, TanhL1):
    """`TanhL1` on codes, with a division for each entry or a shift."""

    tanh_table: torch.Tensor
    eps_code: torch.Tensor
    thresholds: torch.Tensor

    def __init__(self, layer: TanhL1, bits: int, signed: bool, length: int) -> None:
        QuantNormaliser.__init__(self, layer, bits, signed, length)
        self.eps = layer.eps

    def make_constants(self) -> None:
        """Set the constants of the form."""
        word = self.input_quant
        table_bits = constants.default_table_bits(self.fraction)
        table = constants.tanh_table(self.x_exponent, word.bits, table_bits, self.gain, word.signed)
        self.set_constant("tanh_table", table)
        self.set_constant("eps_code", constants.eps_code(self.eps, table_bits))
        if self.form == "shift":
            self.set_constant("thresholds", constants.shift_thresholds(table_bits, self.length))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float tanh-l1 of x."""
        return TanhL1.forward(self, x)

    def masked(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the codes of the weights times `y_scale`, each row over the entries that it sees."""
        scale = self.input_quant.scale
        if self.form == "shift":
            return tanh_l1_shift(x, scale, self.tanh_table, self.eps_code, self.thresholds, self.y_scale, mask)
        return tanh_l1(x, scale, self.tanh_table, self.eps_code, self.y_scale, mask)
