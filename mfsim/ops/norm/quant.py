"""`QuantLayerNorm`, `QuantRMSNorm`, `QuantShiftNorm`: norms of codes, whose sums are never rounded.

gamma is a word of 8 bits on one grid of its own, beta a word of 16 bits on the grid of the result. eps,
guard bits, the dividend of the reciprocal and thresholds are derived from the scales.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from mfsim.errors import RecipeError
from mfsim.ir.formats import Format
from mfsim.nn import LayerNorm, RMSNorm, ShiftNorm
from mfsim.nn.norms import over_power, power_gains
from mfsim.ops.norm import torch as norms
from mfsim.ops.norm.layer_norm import OP as LAYER_NORM
from mfsim.ops.norm.layer_norm_recip import OP as LAYER_NORM_RECIP
from mfsim.ops.norm.rms_norm import OP as RMS_NORM
from mfsim.ops.norm.rms_norm_recip import OP as RMS_NORM_RECIP
from mfsim.ops.norm.shift_norm_l1 import OP as SHIFT_NORM_L1
from mfsim.ops.norm.shift_norm_l2 import OP as SHIFT_NORM_L2
from mfsim.ops.norm.tables import GAIN_PLACES, eps_code, guard_bits, reciprocal_bits, shift_thresholds
from mfsim.ops.torch_node import exporting
from mfsim.quant.nonlinear_base import QuantNonlinear, exponent_of
from mfsim.quant.qparams import BETA_BITS
from mfsim.quant.quantizers import BiasWord, QuantBiasMixin, QuantWeightMixin, WeightWord, plain, stored_scale
from mfsim.quant.scales import weight_exponents

GAMMA_BITS = 8
"""Bits of gamma, signed and narrow."""


class _QuantNorm(QuantBiasMixin, QuantNonlinear):
    """What the norms share: their row, and beta on the grid of the result."""

    bias_quant: nn.Module

    def __init__(self, layer: Any, bits: int, signed: bool, bias: torch.Tensor | None) -> None:
        QuantNonlinear.__init__(self, layer, bits, signed)
        self.width = int(layer.width)
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone())
        QuantBiasMixin.__init__(self, None if bias is None else BiasWord.let(bit_width=BETA_BITS))

    @property
    def word(self) -> Format:
        """The word of the row."""
        return Format(self.input_quant.bits, self.input_quant.signed)

    def accumulator_scale(self) -> torch.Tensor:
        """Return the grid of the result, on which beta lies."""
        return self.y_scale

    def offset(self) -> torch.Tensor:
        """Return beta as it is quantized."""
        return plain(self.bias_quant(self.bias))

    def check_offset(self) -> None:
        """Raise `RecipeError` if beta does not fit its word."""
        largest = 0.0 if self.bias is None else float(self.bias.detach().abs().max() / self.y_scale)
        if round(largest) >= 1 << (BETA_BITS - 1):
            raise RecipeError(
                f"the bias of a norm needs more than its {BETA_BITS} bits on the grid 2^{self.y_exponent} of its result"
            )

    def extra_repr(self) -> str:
        """Return the width for `print(model)`."""
        return f"{self.width}"


class _QuantRootNorm(QuantWeightMixin, _QuantNorm):
    """A norm that divides by a root.

    Attributes
    ----------
    eps, guard, recip_one : int64 buffers, derived; see `mfsim.ops.norm.torch`
    """

    weight_quant: nn.Module
    eps: torch.Tensor
    guard: torch.Tensor
    recip_one: torch.Tensor

    def __init__(self, layer: Any, bits: int, signed: bool) -> None:
        _QuantNorm.__init__(self, layer, bits, signed, getattr(layer, "bias", None))
        self.real_eps, self.form = float(layer.eps), layer.form
        self.weight = nn.Parameter(layer.weight.detach().clone())
        exponent = weight_exponents(layer.weight.detach().numpy()[None], GAMMA_BITS, False, "max")
        scale = torch.tensor(np.ldexp(1.0, exponent), dtype=torch.float32)
        QuantWeightMixin.__init__(self, WeightWord.let(bit_width=GAMMA_BITS, scale=scale))

    @property
    def output_channel_dim(self) -> int:
        """Axis of gamma that holds the channels."""
        return 0

    @property
    def out_channels(self) -> int:
        """Number of channels."""
        return self.width

    def gamma(self) -> torch.Tensor:
        """Return gamma as it is quantized."""
        return plain(self.weight_quant(self.weight))

    def make_constants(self) -> None:
        """Set `eps`, `guard` and, for the reciprocal form, `recip_one`."""
        self.check_offset()
        fraction = -self.y_exponent
        guard = guard_bits(fraction, self.word, self.width, self.x_exponent, self.real_eps)
        self.set_constant("eps", eps_code(self.real_eps, self.width, self.x_exponent, guard))
        self.set_constant("guard", 1 << guard)
        if self.form == "reciprocal":
            gamma_bits = GAMMA_BITS - 1 + exponent_of(stored_scale(self.weight_quant))
            power = reciprocal_bits(fraction, self.word, self.width, guard, gamma_bits)
            self.set_constant("recip_one", 1 << power)

    def scales(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return gamma with its scale, and the scale of the input in front."""
        return self.input_quant.scale, self.gamma(), stored_scale(self.weight_quant)

    def dividend(self) -> torch.Tensor | None:
        """Return `recip_one` where the form has it."""
        return self.recip_one if self.form == "reciprocal" else None

    def smooth_eps(self) -> float:
        """Return what the float function adds: never 0, so that its gradient at a constant row is finite."""
        return max(self.real_eps, 1e-12)


class QuantLayerNorm(_QuantRootNorm):
    """`LayerNorm` on codes."""

    arguments: ClassVar[tuple[str, ...]] = ("width", "eps", "form")
    exported_as: ClassVar[tuple[str, ...]] = (*LAYER_NORM.onnx.op_types, *LAYER_NORM_RECIP.onnx.op_types)

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float norm of x with gamma and beta as they are quantized.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Quantized values.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return nn.functional.layer_norm(x, (self.width,), self.gamma(), self.offset(), self.smooth_eps())

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the norm times `y_scale`.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        return norms.layer_norm(x, *self.scales(), self.offset(), self.eps, self.guard, self.y_scale, self.dividend())


class QuantRMSNorm(_QuantRootNorm):
    """`RMSNorm` on codes."""

    arguments: ClassVar[tuple[str, ...]] = ("width", "eps", "form")
    exported_as: ClassVar[tuple[str, ...]] = (*RMS_NORM.onnx.op_types, *RMS_NORM_RECIP.onnx.op_types)

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float norm of x with gamma as it is quantized.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Quantized values.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return nn.functional.rms_norm(x, (self.width,), self.gamma(), self.smooth_eps())

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the norm times `y_scale`.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        return norms.rms_norm(x, *self.scales(), self.eps, self.guard, self.y_scale, self.dividend())


class QuantShiftNorm(_QuantNorm):
    """`ShiftNorm` on codes.

    Attributes
    ----------
    gamma_pow, thresholds : int64 buffers, derived; see `mfsim.ops.norm.torch`
    """

    arguments: ClassVar[tuple[str, ...]] = ("width", "kind")
    exported_as: ClassVar[tuple[str, ...]] = (*SHIFT_NORM_L1.onnx.op_types, *SHIFT_NORM_L2.onnx.op_types)

    gamma_pow: torch.Tensor
    thresholds: torch.Tensor

    def __init__(self, layer: Any, bits: int, signed: bool) -> None:
        _QuantNorm.__init__(self, layer, bits, signed, layer.bias)
        self.kind = layer.kind
        self.log_gain = nn.Parameter(layer.log_gain.detach().clone())

    def make_constants(self) -> None:
        """Set `gamma_pow` and `thresholds`."""
        self.check_offset()
        if self.y_exponent > 0:
            raise RecipeError(f"the grid of a shift norm's result must be at most 1, not 2^{self.y_exponent}")
        self.set_constant("thresholds", shift_thresholds(self.kind, self.word, self.width))
        self.register_buffer("gamma_pow", self.gain_codes(), persistent=False)

    @torch.no_grad()
    def gain_codes(self) -> torch.Tensor:
        """Return the gains as codes on 2**-8."""
        codes: torch.Tensor = (power_gains(self.log_gain) * 2**GAIN_PLACES).to(torch.int64)
        return codes

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float norm of x with beta as it is quantized.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Quantized values.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return over_power(x, self.kind) * power_gains(self.log_gain) + self.offset()

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the norm times `y_scale`; the gains are those of `log_gain` as it is now.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        if not exporting():
            self.gamma_pow = self.gain_codes()
        scale, steps = self.input_quant.scale, self.thresholds
        return norms.shift_norm(x, scale, self.gamma_pow, self.offset(), steps, self.y_scale, self.kind)


LAYERS: dict[type[nn.Module], type[QuantNonlinear]] = {
    LayerNorm: QuantLayerNorm,
    RMSNorm: QuantRMSNorm,
    ShiftNorm: QuantShiftNorm,
}
"""The quantized layer for each float one."""
