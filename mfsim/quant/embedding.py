"""`QuantEmbedding`: rows of a quantized table, chosen by ids."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.quant.quantizers import ActivationQuant


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

    def __init__(self, layer: nn.Embedding, bits: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(layer.weight.detach().clone())
        self.table_quant = ActivationQuant(bits, True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the rows of int64 ids [...], shape [..., width]."""
        return nn.functional.embedding(ids, self.table_quant(self.weight))

    def extra_repr(self) -> str:
        """Return the shape for `print(model)`."""
        return f"{tuple(self.weight.shape)}"
