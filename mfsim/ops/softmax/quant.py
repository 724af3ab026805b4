"""`QuantSoftmax` and `QuantTanhL1`: weights of rows of codes, in one of the forms of their ops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import torch
from torch import nn

from mfsim.errors import RecipeError
from mfsim.nn import Softmax, TanhL1
from mfsim.nn.softmax import causal_mask
from mfsim.ops.function_table import MAX_ENTRIES
from mfsim.ops.softmax.softmax import OP as SOFTMAX
from mfsim.ops.softmax.softmax_log import OP as SOFTMAX_LOG
from mfsim.ops.softmax.softmax_recip import OP as SOFTMAX_RECIP
from mfsim.ops.softmax.softmax_shift import OP as SOFTMAX_SHIFT
from mfsim.ops.softmax.tables import (
    LOG_TABLE_BITS,
    eps_code,
    exp_table,
    log_tables,
    reciprocal_one,
    softmax_shift_thresholds,
    softmax_table_bits,
    tanh_l1_shift_thresholds,
    tanh_l1_table_bits,
    tanh_table,
)
from mfsim.ops.softmax.tanh_l1 import OP as TANH_L1
from mfsim.ops.softmax.tanh_l1_shift import OP as TANH_L1_SHIFT
from mfsim.ops.softmax.torch import softmax, softmax_log, softmax_recip, softmax_shift, tanh_l1, tanh_l1_shift
from mfsim.quant.nonlinear_base import QuantNonlinear

# `QuantSoftmax`: softmax of rows of codes, in one of the forms of its ops.
#
# Tables, thresholds and the dividend of a reciprocal are derived from the scales, the words and the
# length of a row. The factor of the scores goes into the table.

MOST_BITS = MAX_ENTRIES.bit_length() - 1
"""The widest scores: each code of a row has an entry in a table."""

MOST_FRACTION = 24
"""The finest grid of a result is 2**-24; a finer quantizer behind gains nothing."""


class QuantNormaliser(QuantNonlinear):
    """What softmax and tanh-l1 share: the length of a row, a mask, a result between -1 and 1 on 1 to 24 fraction bits.

    Parameters
    ----------
    layer : Softmax or TanhL1
    bits, signed : word of the scores.
    length : int
        Entries of a row.
    """

    mask_codes: torch.Tensor

    whole_rows: ClassVar[bool] = True

    def __init__(self, layer: Softmax | TanhL1, bits: int, signed: bool, length: int) -> None:
        super().__init__(layer, bits, signed)
        if bits > MOST_BITS:
            raise RecipeError(f"`activation` of a normaliser must be at most {MOST_BITS} bits, not {bits}")
        self.length, self.gain, self.form, self.causal = length, layer.gain, layer.form, layer.causal

    @property
    def fraction(self) -> int:
        """F: the result lies on 2**-F."""
        return -self.y_exponent

    def derive(self) -> None:
        """Make the derived constants anew, after the result's grid was brought into the range that the ops have."""
        self.y_scale.clamp_(2.0**-MOST_FRACTION, 0.5)
        super().derive()
        if self.causal:
            mask = causal_mask("a causal normaliser", (self.length, self.length))
            self.set_constant("mask_codes", mask.int().tolist())

    def forward(self, x: torch.Tensor, seen: torch.Tensor | None = None) -> torch.Tensor:
        """Return the weights; `seen`, 0 and 1 that broadcast against x, takes the place of the causal mask.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Scores.
        seen : tensor, optional
            0 and 1, broadcast against x.

        Returns
        -------
        float tensor, same shape
            On the grid of the result.
        """
        return super().forward(x) if seen is None else self.masked(self.input_quant(x), seen)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the weights times `y_scale`.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Scores on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        return self.masked(x, self.mask_codes if self.causal else None)

    @abstractmethod
    def masked(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the codes of the weights times `y_scale`, each row over the entries that it sees.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Scores on the grid of the input quantizer.
        mask : tensor or None
            0 and 1, broadcast against x; None for everything.

        Returns
        -------
        float tensor, same shape
            Without a gradient; 0 at hidden entries.
        """

    def set_constants(self, names: Sequence[str], values: Sequence[object]) -> list[str]:
        """Set derived constants and return their names, in the order in which the op takes them.

        Parameters
        ----------
        names : sequence of str
            Names of buffers.
        values : sequence
            An integer, or a sequence of integers, for each name.

        Returns
        -------
        list of str
            The names.
        """
        for name, value in zip(names, values, strict=True):
            self.set_constant(name, value)
        return list(names)


class QuantSoftmax(QuantNormaliser, Softmax):
    """`Softmax` on codes, in its four forms."""

    arguments: ClassVar[tuple[str, ...]] = ("gain", "form", "causal")
    exported_as: ClassVar[tuple[str, ...]] = (
        *SOFTMAX.onnx.op_types,
        *SOFTMAX_RECIP.onnx.op_types,
        *SOFTMAX_SHIFT.onnx.op_types,
        *SOFTMAX_LOG.onnx.op_types,
    )

    def __init__(self, layer: Softmax, bits: int, signed: bool, length: int) -> None:
        QuantNormaliser.__init__(self, layer, bits, signed, length)
        self.constants: list[str] = []

    def make_constants(self) -> None:
        """Set the constants of the form."""
        fraction, length, exponent = self.fraction, self.length, self.x_exponent
        table_bits = softmax_table_bits(fraction, length)
        if self.form == "log":
            table_bits = LOG_TABLE_BITS
            tables = log_tables(exponent, length, fraction, self.gain)
            names = ("thresholds", "lnk_table", "lnm_table", "out_table", "fine")
            self.constants = self.set_constants(names, [getattr(tables, name) for name in names])
        elif self.form == "reciprocal":
            self.constants = self.set_constants(["recip_one"], [reciprocal_one(fraction, table_bits)])
        elif self.form == "shift":
            self.constants = self.set_constants(["thresholds"], [softmax_shift_thresholds(table_bits, length)])
        table = exp_table(exponent, self.input_quant.bits, table_bits, self.gain)
        self.set_constant("exp_table", table)

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float softmax of x.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Quantized scores.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return Softmax.forward(self, x)

    def masked(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the codes of the weights times `y_scale`, each row over the entries that it sees.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Scores on the grid of the input quantizer.
        mask : tensor or None
            0 and 1, broadcast against x; None for everything.

        Returns
        -------
        float tensor, same shape
            Without a gradient; 0 at hidden entries.
        """
        functions: dict[str, Callable[..., torch.Tensor]] = {
            "division": softmax,
            "reciprocal": softmax_recip,
            "shift": softmax_shift,
            "log": softmax_log,
        }
        buffers = [self.get_buffer(name) for name in ("exp_table", *self.constants)]
        return functions[self.form](x, self.input_quant.scale, *buffers, self.y_scale, mask)


# `QuantTanhL1`: tanh of rows of codes over their sum of magnitudes, in one of the forms of its ops.


class QuantTanhL1(QuantNormaliser, TanhL1):
    """`TanhL1` on codes, with a division for each entry or a shift."""

    arguments: ClassVar[tuple[str, ...]] = ("gain", "form", "eps", "causal")
    exported_as: ClassVar[tuple[str, ...]] = (*TANH_L1.onnx.op_types, *TANH_L1_SHIFT.onnx.op_types)

    tanh_table: torch.Tensor
    eps_code: torch.Tensor
    thresholds: torch.Tensor

    def __init__(self, layer: TanhL1, bits: int, signed: bool, length: int) -> None:
        QuantNormaliser.__init__(self, layer, bits, signed, length)
        self.eps = layer.eps

    def make_constants(self) -> None:
        """Set the constants of the form."""
        word = self.input_quant
        table_bits = tanh_l1_table_bits(self.fraction)
        table = tanh_table(self.x_exponent, word.bits, table_bits, self.gain, word.signed)
        self.set_constant("tanh_table", table)
        self.set_constant("eps_code", eps_code(self.eps, table_bits))
        if self.form == "shift":
            self.set_constant("thresholds", tanh_l1_shift_thresholds(table_bits, self.length))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float tanh-l1 of x.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Quantized scores.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return TanhL1.forward(self, x)

    def masked(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the codes of the weights times `y_scale`, each row over the entries that it sees.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Scores on the grid of the input quantizer.
        mask : tensor or None
            0 and 1, broadcast against x; None for everything.

        Returns
        -------
        float tensor, same shape
            Without a gradient; 0 at hidden entries.
        """
        scale = self.input_quant.scale
        if self.form == "shift":
            return tanh_l1_shift(x, scale, self.tanh_table, self.eps_code, self.thresholds, self.y_scale, mask)
        return tanh_l1(x, scale, self.tanh_table, self.eps_code, self.y_scale, mask)


LAYERS: dict[type[nn.Module], type[QuantNonlinear]] = {Softmax: QuantSoftmax, TanhL1: QuantTanhL1}
"""The quantized layer for each float one."""
