"""`Softmax`: softmax over the last axis of gain * x, in the forms that a device has for the division.

    division    each weight divided by the row sum
    reciprocal  one division for each row, then products
    log         a subtraction in the log domain: no multiplication, no division
    shift       the row sum rounded to the nearest power of two in the log domain: a shift

The float function of the first three is one. That of `shift` is another one, softmax with rows that sum to
2**-1/2 .. 2**1/2: train with it. Quantized, they become the integer ops softmax, softmax_recip, softmax_log
and softmax_shift of `mfsim.ops`.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.nn.nearest_power import gain_of_nearest_power

FORMS = ("division", "reciprocal", "shift", "log")
"""How a device divides by the row sum."""


def check_form(layer: str, form: str, forms: tuple[str, ...]) -> None:
    """Raise `FormatError` unless `form` is one of `forms`."""
    if form not in forms:
        hint = did_you_mean(form, forms) if isinstance(form, str) else ""
        raise FormatError(f"`form` of {layer} must be one of {', '.join(forms)}, not {form!r}{hint}")


def check_positive(layer: str, name: str, value: float) -> None:
    """Raise `FormatError` unless `value` is positive and finite."""
    if not 0 < value < math.inf:
        raise FormatError(f"`{name}` of {layer} must be a positive number, not {value!r}")


def causal_mask(layer: str, shape: torch.Size | tuple[int, ...]) -> torch.Tensor:
    """Return what each row of scores of `shape` may see, bool [rows, columns]: row i the columns 0..i.

    Raises `ShapeError` if there are not as many rows as columns.
    """
    if len(shape) < 2 or shape[-2] != shape[-1]:
        raise ShapeError(f"{layer} needs as many rows as columns, not x of shape {tuple(shape)}")
    return torch.ones(shape[-2:], dtype=torch.bool).tril()


class Softmax(nn.Module):
    """exp(gain x) / sum exp(gain x) over the last axis.

    Parameters
    ----------
    gain : float
        Positive factor of x, 1 / sqrt(width) for attention scores. Quantized, it goes into the table of exp.
    form : {"division", "reciprocal", "shift", "log"}
        See the module header.
    causal : bool
        Row i of the last two axes, which must be of one length, sees columns 0..i only; the others are 0.

    Raises
    ------
    FormatError
        If `gain` is not positive or `form` unknown.
    """

    def __init__(self, gain: float = 1.0, form: str = "division", causal: bool = False) -> None:
        super().__init__()
        check_positive("a softmax", "gain", gain)
        check_form("a softmax", form, FORMS)
        self.gain, self.form, self.causal = float(gain), form, bool(causal)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights, of the shape of x."""
        scores = x * self.gain if self.gain != 1 else x
        if self.causal:
            scores = scores.masked_fill(~causal_mask("a causal softmax", x.shape).to(x.device), -math.inf)
        weights = torch.softmax(scores, -1)
        if self.form != "shift":
            return weights
        with torch.no_grad():
            total = torch.exp(scores - scores.amax(-1, keepdim=True)).sum(-1, keepdim=True)
        return weights * gain_of_nearest_power(total)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"gain={self.gain:g}, form={self.form}, causal={self.causal}"
