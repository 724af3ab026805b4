"""`MFLinear`: a linear layer whose products are multiplication-free."""

from __future__ import annotations

import torch

from mfsim.nn import functional
from mfsim.nn.product_layers import LinearProduct

INITIAL = 0.03
"""Standard deviation of fresh weights.

Small against a few steps of training, so that a wrong sign turns early: on digits 0.02 to 0.05 reached 98
to 99 %, 0.2 and 0.5 (with which the two parts of a sum are about equal at first) 96 to 98 %.
"""


class MFLinear(LinearProduct):
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
        functional.mf_attributes(form, sign_zero, grid)
        super().__init__(in_features, out_features, bias)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation `INITIAL`."""
        return torch.randn(*shape) * INITIAL

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the MF product of x [..., K] and w [K, O]."""
        return functional.mf_matmul(x, w, form=self.form, sign_zero=self.sign_zero, grid=self.grid)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{super().extra_repr()}, form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"
