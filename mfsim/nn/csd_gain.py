"""`CsdGain`: multiply by fixed constants that are sums of few powers of two with a sign."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from mfsim.errors import FormatError
from mfsim.nn.functional import emitted, exporting, observed
from mfsim.nn.shift import along, check_axis
from mfsim.ops.csd_gain import MOST_DIGITS, nearest_digits


@observed
def csd_gain(x: torch.Tensor, gain: torch.Tensor, digits: int) -> torch.Tensor:
    """Return x * gain for gains of at most `digits` signed digits that broadcast against x."""
    return emitted("CsdGain", (x, gain), {"digits": digits}, x.shape) if exporting() else x * gain


class CsdGain(nn.Module):
    """x * c along `axis`, the constants rounded to `digits` signed digits; the word grows, nothing is lost.

    Parameters
    ----------
    values : floats
        One constant, or one for each index of `axis`.
    digits : int in 1..32
        Most signed digits of a constant: a code takes one addition less. The relative error of a constant is
        at most 3**-digits.
    axis : negative int
        -1 for features, -3 for the channels of [N, C, H, W].

    Attributes
    ----------
    gain : buffer, shape [n, 1, ...]
        The rounded constants.

    Raises
    ------
    FormatError
        If there is no constant, one is not finite, or an option is out of range.
    """

    gain: torch.Tensor

    def __init__(self, values: Sequence[float], digits: int = 3, axis: int = -1) -> None:
        super().__init__()
        given = torch.as_tensor(values, dtype=torch.float64).reshape(-1)
        if not given.numel() or not torch.isfinite(given).all():
            raise FormatError(f"`values` must be at least one finite number, not {given.tolist()}")
        if not 1 <= digits <= MOST_DIGITS:
            raise FormatError(f"`digits` must be in 1..{MOST_DIGITS}, not {digits}")
        self.digits, self.axis = digits, check_axis(axis)
        rounded = torch.tensor([float(nearest_digits(value, digits)) for value in given.tolist()])
        self.register_buffer("gain", along(rounded, axis))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x times its constants."""
        return csd_gain(x, self.gain, self.digits)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.gain.numel()}, digits={self.digits}, axis={self.axis}"
