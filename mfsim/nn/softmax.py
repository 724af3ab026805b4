"""`Softmax` and `TanhL1`: weights of a row, in the forms that a device has for the division."""

from __future__ import annotations

import math

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean

# What the normalisers by a shift share: the gain of a row whose divisor is rounded to a power of two.


def _gain_of_nearest_power(total: torch.Tensor) -> torch.Tensor:
    """Return total / 2**k for positive totals, k = log2(total) rounded: within 2**-1/2 .. 2**1/2.

    A row divided by `total` and multiplied by this gain is the row shifted by k. The rounding passes its
    gradient straight through: the gain has none.
    """
    with torch.no_grad():
        return total * torch.exp2(-torch.floor(torch.log2(total) + 0.5))


# `Softmax`: softmax over the last axis of gain * x, in the forms that a device has for the division.
#
#     division    each weight divided by the row sum
#     reciprocal  one division for each row, then products
#     log         a subtraction in the log domain: no multiplication, no division
#     shift       the row sum rounded to the nearest power of two in the log domain: a shift
#
# The float function of the first three is one. That of `shift` is another one, softmax with rows that sum to
# 2**-1/2 .. 2**1/2: train with it. Quantized, they become the integer ops softmax, softmax_recip, softmax_log
# and softmax_shift of `mfsim.ops`.

SOFTMAX_FORMS = ("division", "reciprocal", "shift", "log")
"""How a device divides by the row sum."""


def _check_form(layer: str, form: str, forms: tuple[str, ...]) -> None:
    """Raise `FormatError` unless `form` is one of `forms`."""
    if form not in forms:
        hint = did_you_mean(form, forms) if isinstance(form, str) else ""
        raise FormatError(f"`form` of {layer} must be one of {', '.join(forms)}, not {form!r}{hint}")


def _check_positive(layer: str, name: str, value: float) -> None:
    """Raise `FormatError` unless `value` is positive and finite."""
    if not 0 < value < math.inf:
        raise FormatError(f"`{name}` of {layer} must be a positive number, not {value!r}")


def causal_mask(layer: str, shape: torch.Size | tuple[int, ...]) -> torch.Tensor:
    """Return the causal mask: row i may see the columns 0..i.

    Parameters
    ----------
    layer : str
        What the message of an error calls the layer.
    shape : torch.Size or tuple of int
        Shape [..., T, T] of the scores.

    Returns
    -------
    bool tensor, shape [T, T]
        True where a row may see a column.

    Raises
    ------
    ShapeError
        If there are fewer than two axes, or not as many rows as columns.
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
        _check_positive("a softmax", "gain", gain)
        _check_form("a softmax", form, SOFTMAX_FORMS)
        self.gain, self.form, self.causal = float(gain), form, bool(causal)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights, of the shape of x.

        Parameters
        ----------
        x : float tensor, shape [..., n]
            Scores; [..., T, T] if `causal`.

        Returns
        -------
        float tensor, of the shape of x
            In 0..1, rows sum to 1; with `form` shift, to within 2**-1/2 .. 2**1/2.

        Raises
        ------
        ShapeError
            If `causal` and there are not as many rows as columns.
        """
        scores = x * self.gain if self.gain != 1 else x
        if self.causal:
            scores = scores.masked_fill(~causal_mask("a causal softmax", x.shape).to(x.device), -math.inf)
        weights = torch.softmax(scores, -1)
        if self.form != "shift":
            return weights
        with torch.no_grad():
            total = torch.exp(scores - scores.amax(-1, keepdim=True)).sum(-1, keepdim=True)
        return weights * _gain_of_nearest_power(total)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"gain={self.gain:g}, form={self.form}, causal={self.causal}"


# `TanhL1`: tanh(gain x) over its sum of magnitudes along the last axis, with or without a division.
#
#     division  t / (eps + sum |t|),  t = tanh(gain x)
#     shift     the divisor rounded to the nearest power of two in the log domain: a shift
#
# `shift` is another function, with rows whose magnitudes sum to about 2**-1/2 .. 2**1/2: train with it.
# Quantized, they become the integer ops tanh_l1 and tanh_l1_shift of `mfsim.ops`.

TANH_L1_FORMS = ("division", "shift")
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
        _check_positive("a tanh-l1", "gain", gain)
        _check_positive("a tanh-l1", "eps", eps)
        _check_form("a tanh-l1", form, TANH_L1_FORMS)
        self.gain, self.form, self.eps, self.causal = float(gain), form, float(eps), bool(causal)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the weights, of the shape of x.

        Parameters
        ----------
        x : float tensor, shape [..., n]
            Scores; [..., T, T] if `causal`.

        Returns
        -------
        float tensor, of the shape of x
            Signed; the magnitudes of a row sum to at most 1, with `form` shift to at most 2**1/2.

        Raises
        ------
        ShapeError
            If `causal` and there are not as many rows as columns.
        """
        t = torch.tanh(x * self.gain if self.gain != 1 else x)
        if self.causal:
            t = t.masked_fill(~causal_mask("a causal tanh-l1", x.shape).to(x.device), 0)
        total = self.eps + t.abs().sum(-1, keepdim=True)
        weights = t / total
        return weights * _gain_of_nearest_power(total) if self.form == "shift" else weights

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"gain={self.gain:g}, form={self.form}, eps={self.eps:g}, causal={self.causal}"
