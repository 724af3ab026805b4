"""`TanhL1`: tanh(gain x) over its sum of magnitudes along the last axis, with or without a division.

    division  t / (eps + sum |t|),  t = tanh(gain x)
    shift     the divisor rounded to the nearest power of two in the log domain: a shift

`shift` is another function, with rows whose magnitudes sum to about 2**-1/2 .. 2**1/2: train with it.
Quantized, they become the integer ops tanh_l1 and tanh_l1_shift of `mfsim.ops`.
"""

from __future__ import annotations

import torch
from torch import nn

from mfsim.nn.nearest_power import gain_of_nearest_power
from mfsim.nn.softmax import causal_mask, check_form, check_positive

FORMS = ("division", "shift")
"""How a device divides by the sum of a row."""


class TanhL1(nn.Module):
    """tanh(gain x) / (eps + sum |tanh(gain x)|) over the last axis: signed weights that sum to at most 1.

    Parameters
    ----------
    gain : float
        Positive factor of x. Quantized, it goes into the table of tanh.
    form : {"division", "shift"}
        See the module header.
    eps : float
        Positive, so that a row of zeros stays zero.
    causal : bool
        Row i of the last two axes, which must be of one length, sees columns 0..i only; the others are 0 and
        not part of its sum.

    Raises
    ------
    FormatError
        If `gain` or `eps` is not positive, or `form` unknown.
    """

    def __init__(self, gain: float = 1.0, form: str = "division", eps: float = 1e-6, causal: bool = False) -> None:
        super().__init__()
        check_positive("a tanh-l1", "gain", gain)
        check_positive("a tanh-l1", "eps", eps)
        check_form("a tanh-l1", form, FORMS)
        self.gain, self.form, self.eps, self.causal = float(gain), form, float(eps), bool(causal)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights, of the shape of x."""
        t = torch.tanh(x * self.gain if self.gain != 1 else x)
        if self.causal:
            t = t.masked_fill(~causal_mask("a causal tanh-l1", x.shape).to(x.device), 0)
        total = self.eps + t.abs().sum(-1, keepdim=True)
        weights = t / total
        return weights * gain_of_nearest_power(total) if self.form == "shift" else weights

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"gain={self.gain:g}, form={self.form}, eps={self.eps:g}, causal={self.causal}"
