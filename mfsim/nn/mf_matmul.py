"""`MFLinear`: a linear layer whose products are multiplication-free."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import functional

INITIAL = 0.03
"""Standard deviation of fresh weights.

Small against a few steps of training, so that a wrong sign turns early: on digits 0.02 to 0.05 reached 98
to 99 %, 0.2 and 0.5 (with which the two parts of a sum are about equal at first) 96 to 98 %.
"""


def initial_weight(*shape: int) -> nn.Parameter:
    """Return fresh normally distributed weights of standard deviation `INITIAL`."""
    return nn.Parameter(torch.randn(*shape) * INITIAL)


class MFLinear(nn.Module):
    """MF product of the last axis with `weight`, plus `bias`.

    Parameters
    ----------
    in_features, out_features : int
        At least 1.
    bias : bool
        Whether there is a bias, 0 at first; needless in front of a batch norm.
    form, sign_zero, grid
        As in `mfsim.nn.functional.mf_mul`.

    Attributes
    ----------
    weight : parameter, shape [out_features, in_features]
    bias : parameter, shape [out_features], or None

    Raises
    ------
    ShapeError, FormatError
        If a size is less than 1, or an option is unknown.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        form: str = "ef",
        sign_zero: int = 0,
        grid: str = "split",
    ) -> None:
        super().__init__()
        if in_features < 1 or out_features < 1:
            raise ShapeError(
                f"`in_features` and `out_features` must be at least 1, not {in_features} and {out_features}"
            )
        functional.mf_attributes(form, sign_zero, grid)
        self.in_features, self.out_features = in_features, out_features
        self.form, self.sign_zero, self.grid = form, sign_zero, grid
        self.weight = initial_weight(out_features, in_features)
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output, shape [..., out_features], for x of shape [..., in_features]."""
        y = functional.mf_matmul(x, self.weight.t(), form=self.form, sign_zero=self.sign_zero, grid=self.grid)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return (
            f"{self.in_features}, {self.out_features}, bias={self.bias is not None}, "
            f"form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"
        )
