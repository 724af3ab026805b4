"""`Shift`, `CsdGain`, `Scaling`, `Affine`: gains for each channel."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.nn import functional
from mfsim.ops.grid.csd_gain import MOST_DIGITS, nearest_digits
from mfsim.ops.grid.csd_gain import OP as CSD_GAIN
from mfsim.ops.torch_node import emitted, exporting, observed

# `Shift`: a fixed gain 2**k for each channel, which on a device only relabels the scale.


def along(values: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the vector `values` shaped so that it broadcasts along the negative `axis`.

    Parameters
    ----------
    values : tensor, any shape
        Its n entries are taken in order.
    axis : int
        Axis counted from the end, below 0.

    Returns
    -------
    tensor, shape (n, 1, ...)
        With -axis dimensions.
    """
    return values.reshape(-1, *([1] * (-1 - axis)))


def check_axis(axis: int) -> int:
    """Return `axis` if it is negative; a `FormatError` says why it must be.

    Parameters
    ----------
    axis : int
        Axis counted from the end, below 0.

    Returns
    -------
    int
        `axis` itself.

    Raises
    ------
    FormatError
        If `axis` is 0 or above.
    """
    if axis >= 0:
        raise FormatError(f"`axis` must be counted from the end (-1 is the last), not {axis}")
    return axis


class Shift(nn.Module):
    """x * 2**k, with one k, or one for each index of `axis`.

    Parameters
    ----------
    exponents : ints in -62..62
    axis : negative int
        -1 for features, -3 for the channels of [N, C, H, W].

    Attributes
    ----------
    gain : buffer, shape [n, 1, ...]
    """

    gain: torch.Tensor

    def __init__(self, exponents: Sequence[int], axis: int = -1) -> None:
        super().__init__()
        exponents = [int(k) for k in exponents]
        if not exponents or any(not -62 <= k <= 62 for k in exponents):
            raise FormatError(f"`exponents` must be ints in -62..62, not {exponents}")
        self.axis = check_axis(axis)
        self.register_buffer("gain", along(torch.tensor([2.0**k for k in exponents]), axis))

    @property
    def exponents(self) -> tuple[int, ...]:
        """The exponents k."""
        return tuple(int(k) for k in torch.log2(self.gain.detach().double()).flatten().tolist())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x times its gain.

        Parameters
        ----------
        x : float tensor
            Values, whose `axis` has one index for each exponent.

        Returns
        -------
        float tensor, shape of x
            x * 2**k.
        """
        return functional.shift(x, self.gain)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"exponents={min(self.exponents)}..{max(self.exponents)}, axis={self.axis}"


# `CsdGain`: multiply by fixed constants that are sums of few powers of two with a sign.


@observed
def csd_gain(x: torch.Tensor, gain: torch.Tensor, digits: int) -> torch.Tensor:
    """Return x * gain for gains of at most `digits` signed digits that broadcast against x.

    Parameters
    ----------
    x : float tensor
        Values.
    gain : float tensor
        Constants that broadcast against x.
    digits : int
        Most signed digits of a constant, in 1..32.

    Returns
    -------
    float tensor, shape of x
        Products.
    """
    return emitted(CSD_GAIN.onnx.op_type, (x, gain), {"digits": digits}, x.shape) if exporting() else x * gain


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
        """Return x times its constants.

        Parameters
        ----------
        x : float tensor
            Values, whose `axis` has one index for each constant.

        Returns
        -------
        float tensor, shape of x
            Products.
        """
        return csd_gain(x, self.gain, self.digits)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.gain.numel()}, digits={self.digits}, axis={self.axis}"


# `Scaling`: a learned gain for each index of one axis, such as the scale v in the transform domain of Pan et al.
#
# A gain is any number, which a device multiplies by, or a power of two, which only relabels the grid.

KINDS = ("multiply", "shift")

LIMIT = 30
"""Power-of-two gains are 2**-30 .. 2**30."""


class Scaling(nn.Module):
    """x * v along `axis`.

    Parameters
    ----------
    size : int
        Length of the axis, at least 1.
    axis : negative int
        -1 for the last axis, -2 for the one before.
    kind : {"multiply", "shift"}
        Any gains, each a multiplication; or 2**k, k = `weight` rounded, with a gradient that passes straight
        through the rounding. These are positive, and `fold` turns them into a `Shift`.

    Attributes
    ----------
    weight : parameter, shape [size, 1, ...]
        The gains v, or their log2; 1 or 0 at first.

    Raises
    ------
    ShapeError, FormatError
        If `size` is less than 1, or an option is unknown.
    """

    def __init__(self, size: int, axis: int = -1, kind: str = "multiply") -> None:
        super().__init__()
        if size < 1:
            raise ShapeError(f"`size` of a scaling must be at least 1, not {size}")
        if kind not in KINDS:
            raise FormatError(f"`kind` must be one of {', '.join(KINDS)}, not {kind!r}{did_you_mean(str(kind), KINDS)}")
        self.size, self.axis, self.kind = size, check_axis(axis), kind
        self.weight = nn.Parameter(along(torch.full((size,), float(kind == "multiply")), axis))

    def gains(self) -> torch.Tensor:
        """Return the gains that `forward` uses, shape [size, 1, ...]."""
        if self.kind == "multiply":
            return self.weight
        exponents = self.weight.clamp(-LIMIT, LIMIT)
        return torch.exp2(torch.round(exponents).detach() + (exponents - exponents.detach()))

    def exponents(self) -> tuple[int, ...]:
        """Return k for each index, for gains that are powers of two."""
        return tuple(int(k) for k in torch.log2(self.gains().detach().double()).reshape(-1).tolist())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scaled x.

        Parameters
        ----------
        x : float tensor
            Values, of length `size` along `axis`.

        Returns
        -------
        float tensor, shape of x
            Products.

        Raises
        ------
        ShapeError
            If x has no such axis, or it has another length.
        """
        if x.ndim < -self.axis or x.shape[self.axis] != self.size:
            raise ShapeError(
                f"a scaling of {self.size} entries along axis {self.axis} does not suit x {tuple(x.shape)}"
            )
        return functional.shift(x, self.gains()) if self.kind == "shift" else x * self.gains()

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}, kind={self.kind}"


# `Affine`: one gain and one offset for each channel of the last axis.

ALPHAS = ("free", "power-of-two")
"""Gains are any numbers, or powers of two, which are shifts on a device."""

AFFINE_LIMIT = 30
"""Power-of-two gains are 2**-30 .. 2**30."""


class Affine(nn.Module):
    """alpha * x + beta along the last axis.

    Power-of-two gains are 2**k, k = `log_alpha` rounded: forward so, backward the rounding passes its
    gradient straight through. They are positive.

    Parameters
    ----------
    width : int
        Length of the last axis, at least 1.
    alpha : {"free", "power-of-two"}
        What the gains may be.
    initial : float
        Gain before training, above 0.

    Attributes
    ----------
    alpha : parameter, shape [width], for free gains
    log_alpha : parameter, shape [width], for powers of two
        log2 of the gain before it is rounded.
    beta : parameter, shape [width]
        0 at first.

    Raises
    ------
    ShapeError, FormatError
        If `width` is less than 1, `alpha` is unknown, or `initial` is not above 0.
    """

    def __init__(self, width: int, alpha: str = "free", initial: float = 1.0) -> None:
        super().__init__()
        if width < 1:
            raise ShapeError(f"`width` of an affine layer must be at least 1, not {width}")
        if alpha not in ALPHAS:
            raise FormatError(
                f"`alpha` must be one of {', '.join(ALPHAS)}, not {alpha!r}{did_you_mean(str(alpha), ALPHAS)}"
            )
        if not initial > 0:
            raise FormatError(f"`initial` of an affine layer must be above 0, not {initial}")
        self.width, self.kind = width, alpha
        gains = torch.full((width,), float(initial))
        self.alpha = nn.Parameter(gains) if alpha == "free" else None
        self.log_alpha = nn.Parameter(torch.log2(gains)) if alpha != "free" else None
        self.beta = nn.Parameter(torch.zeros(width))

    def gains(self) -> torch.Tensor:
        """Return the gains that `forward` uses, shape [width]."""
        if self.log_alpha is None:
            assert self.alpha is not None
            return self.alpha
        exponents = self.log_alpha.clamp(-AFFINE_LIMIT, AFFINE_LIMIT)
        return torch.exp2(torch.round(exponents).detach() + (exponents - exponents.detach()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return alpha * x + beta.

        Parameters
        ----------
        x : float tensor, shape (..., width)
            Values.

        Returns
        -------
        float tensor, shape (..., width)
            Gained and offset values.

        Raises
        ------
        ShapeError
            If the last axis has another length.
        """
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise ShapeError(f"an affine layer of width {self.width} does not suit x {tuple(x.shape)}")
        return x * self.gains() + self.beta

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.width}, alpha={self.kind}"
