"""`MFMul`: the element-wise MF operator of two activations as a layer of its own."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.nn import functional


class MFMul(nn.Module):
    """The MF operator in place of a * b, element by element.

    Parameters
    ----------
    form, sign_zero, grid
        As in `mfsim.nn.functional.mf_mul`.

    Raises
    ------
    FormatError
        If an option is unknown.
    """

    def __init__(self, form: str = "ef", sign_zero: int = 0, grid: str = "split") -> None:
        super().__init__()
        functional.mf_attributes(form, sign_zero, grid)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the terms; the shapes broadcast."""
        return functional.mf_mul(a, b, form=self.form, sign_zero=self.sign_zero, grid=self.grid)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"
