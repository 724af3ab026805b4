"""`QuantGram`: products of rows of codes with each other."""

from __future__ import annotations

from typing import ClassVar

import torch

from mfsim.nn.matrices import Gram
from mfsim.ops.dense.gram import OP as GRAM
from mfsim.quant.quantizers import ActivationQuant


class QuantGram(Gram):
    """`Gram` on codes: one quantizer for both operands."""

    exported_as: ClassVar[tuple[str, ...]] = (*GRAM.onnx.op_types, "MatMul")

    def __init__(self, layer: Gram, bits: int, signed: bool) -> None:
        super().__init__()
        self.input_quant = ActivationQuant(bits, signed)

    def forward(self, a: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
        """Return the products of the quantized rows.

        Parameters
        ----------
        a : float tensor, shape (..., M, K)
            Rows; brought to the grid of the quantizer.
        b : float tensor, optional
            Other rows, shape (..., N, K); a itself if left out.

        Returns
        -------
        float tensor, shape (..., M, N)
            Exact on codes.
        """
        same = b is None or b is a
        a = self.input_quant(a)
        return super().forward(a, None if same else self.input_quant(b))
