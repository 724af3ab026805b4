"""Quantized layers of two activations: matrix products, element-wise product, sum.

Each has a quantizer for either operand; those of a sum share one scale, so that it needs no alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from mfsim.nn import Add, MatMul, MFMatMul, MFMul, Mul
from mfsim.ops.mf.mf_matmul import OP as MF_MATMUL
from mfsim.ops.mf.mf_mul import OP as MF_MUL
from mfsim.quant.quantizers import ActivationQuant


class QuantPair(nn.Module):
    """Put in front of the class of a float layer: a quantizer for each operand."""

    a_quant: ActivationQuant
    b_quant: ActivationQuant
    one_scale = False
    """Whether both operands lie on one scale."""

    def set_words(self, bits: int, signed: Sequence[bool]) -> None:
        """Make the quantizers of both operands.

        Parameters
        ----------
        bits : int in 2..32
            Of either operand's word.
        signed : sequence of two bools
            Whether a's and b's word is signed.
        """
        self.a_quant, self.b_quant = (ActivationQuant(bits, sign) for sign in signed)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the layer's function of the quantized operands.

        Parameters
        ----------
        a, b : float tensor
            Shapes as the float layer takes them.

        Returns
        -------
        float tensor, as the float layer returns it
        """
        y: torch.Tensor = super().forward(self.a_quant(a), self.b_quant(b))
        return y


class QuantMatMul(QuantPair, MatMul):
    """`MatMul` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = ("MatMul",)

    def __init__(self, layer: MatMul, bits: int, signed: Sequence[bool]) -> None:
        MatMul.__init__(self, layer.transpose_b)
        self.set_words(bits, signed)


class QuantMFMatMul(QuantPair, MFMatMul):
    """`MFMatMul` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = MF_MATMUL.onnx.op_types

    def __init__(self, layer: MFMatMul, bits: int, signed: Sequence[bool]) -> None:
        MFMatMul.__init__(self, layer.form, layer.sign_zero, layer.grid, layer.transpose_b)
        self.set_words(bits, signed)
        self.one_scale = layer.grid == "shared"


class QuantMFMul(QuantPair, MFMul):
    """`MFMul` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = MF_MUL.onnx.op_types

    def __init__(self, layer: MFMul, bits: int, signed: Sequence[bool]) -> None:
        MFMul.__init__(self, layer.form, layer.sign_zero, layer.grid)
        self.set_words(bits, signed)
        self.one_scale = layer.grid == "shared"


class QuantMul(QuantPair, Mul):
    """`Mul` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = ("Mul",)

    def __init__(self, layer: Mul, bits: int, signed: Sequence[bool]) -> None:
        Mul.__init__(self)
        self.set_words(bits, signed)


class QuantAdd(QuantPair, Add):
    """`Add` on codes of one scale."""

    exported_as: ClassVar[tuple[str, ...]] = ("Add",)

    one_scale = True

    def __init__(self, layer: Add, bits: int, signed: Sequence[bool]) -> None:
        Add.__init__(self)
        self.set_words(bits, signed)


PAIRS: dict[type[nn.Module], type[QuantPair]] = {
    MatMul: QuantMatMul,
    MFMatMul: QuantMFMatMul,
    MFMul: QuantMFMul,
    Mul: QuantMul,
    Add: QuantAdd,
}
"""The quantized layer for each layer of two activations."""
