"""`QuantTable`, nonlinear functions of codes looked up in a table, and `QuantEmbedding`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import nn

from mfsim.errors import RecipeError
from mfsim.ir.formats import Format
from mfsim.nn import functional
from mfsim.ops.function_table import MAX_ENTRIES, function_table
from mfsim.ops.lookup.table import OP as TABLE
from mfsim.quant.nonlinear_base import QuantNonlinear
from mfsim.quant.quantizers import ActivationQuant

# `QuantTable`: GELU, SiLU and tanh of codes, looked up in a table of the correctly rounded function.

ENTRY = Format(32)
"""The word in which entries are made; on a device the table has the least that holds them."""

MOST_BITS = MAX_ENTRIES.bit_length() - 1
"""The widest input that a table serves."""


def _function_name(layer: nn.Module) -> str:
    """Return the name that the function of `layer` has in `mfsim.ops.function_table`."""
    if isinstance(layer, nn.GELU):
        return "gelu_tanh" if layer.approximate == "tanh" else "gelu"
    return "silu" if isinstance(layer, nn.SiLU) else "tanh"


FLOATS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": nn.functional.gelu,
    "gelu_tanh": lambda x: nn.functional.gelu(x, approximate="tanh"),
    "silu": nn.functional.silu,
    "tanh": torch.tanh,
}


class QuantTable(QuantNonlinear):
    """`nn.GELU`, `nn.SiLU` or `nn.Tanh` on codes: one entry for each code of the input.

    Attributes
    ----------
    table : int64 buffer, shape [2**bits]
        Codes on `y_scale`, each at most 1/2 LSB from the function.
    first : int64 buffer
        Code of the input that meets the first entry.
    """

    arguments: ClassVar[tuple[str, ...]] = ("approximate",)
    exported_as: ClassVar[tuple[str, ...]] = TABLE.onnx.op_types

    table: torch.Tensor
    first: torch.Tensor

    def __init__(self, layer: nn.Module, bits: int, signed: bool) -> None:
        super().__init__(layer, bits, signed)
        if bits > MOST_BITS:
            raise RecipeError(f"`activation` of a table must be at most {MOST_BITS} bits, not {bits}")
        self.name = _function_name(layer)

    def make_constants(self) -> None:
        """Set `table` and `first`."""
        word = Format(self.input_quant.bits, self.input_quant.signed)
        codes = function_table(self.name, word.lo, 1 << word.bits, self.x_exponent, ENTRY, self.y_exponent)
        self.set_constant("table", codes)
        self.set_constant("first", word.lo)

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float function of x.

        Parameters
        ----------
        x : float tensor
            Quantized values, of any shape.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return FLOATS[self.name](x)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the entries for x.

        Parameters
        ----------
        x : float tensor
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Entries times `y_scale`, without a gradient.
        """
        return functional.table(x, self.input_quant.scale, self.table, self.first, self.y_scale)

    def extra_repr(self) -> str:
        """Return the function for `print(model)`."""
        return self.name


# `QuantEmbedding`: rows of a quantized table, chosen by ids.


class QuantEmbedding(nn.Module):
    """`nn.Embedding` on codes.

    Parameters
    ----------
    layer : nn.Embedding
    bits : int
        Word of the table, signed, on one scale: that of its largest entry.

    Attributes
    ----------
    weight : parameter, shape [rows, width]
    """

    exported_as: ClassVar[tuple[str, ...]] = ("Gather",)

    def __init__(self, layer: nn.Embedding, bits: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(layer.weight.detach().clone())
        self.table_quant = ActivationQuant(bits, True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the rows of int64 ids [...], shape [..., width].

        Parameters
        ----------
        ids : int64 tensor, any shape
            Each in 0..rows - 1.

        Returns
        -------
        float tensor, shape (..., width)
            Quantized entries.
        """
        return nn.functional.embedding(ids, self.table_quant(self.weight))

    def extra_repr(self) -> str:
        """Return the shape for `print(model)`."""
        return f"{tuple(self.weight.shape)}"


LAYERS: dict[type[nn.Module], type[QuantNonlinear]] = {nn.GELU: QuantTable, nn.SiLU: QuantTable, nn.Tanh: QuantTable}
"""The quantized layer for each float one."""
