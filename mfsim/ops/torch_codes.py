"""Pieces of integer functions: codes of values, rounded quotients, thresholds reached, powers of two."""

from __future__ import annotations

import torch

# Pieces of integer functions: codes of values, rounded quotients, thresholds reached, powers of two.

Scale = torch.Tensor | float


def as_scale(scale: Scale, x: torch.Tensor) -> torch.Tensor:
    """Return `scale` as a tensor of the type and device of x.

    Parameters
    ----------
    scale : torch.Tensor or float
        Step of a grid.
    x : torch.Tensor
        Values.

    Returns
    -------
    torch.Tensor
        Of the shape of `scale`.
    """
    return torch.as_tensor(scale, dtype=x.dtype, device=x.device)


def codes_of(values: torch.Tensor, scale: Scale) -> torch.Tensor:
    """Return the int64 codes of values that are integers times `scale`.

    Parameters
    ----------
    values : torch.Tensor
        Floats that are integers times `scale`.
    scale : torch.Tensor or float
        Step, positive, or steps that broadcast to `values`.

    Returns
    -------
    torch.Tensor
        int64, of the shape of `values`, without gradient.
    """
    return torch.round(values.detach() / as_scale(scale, values)).to(torch.int64)


def rounded_quotient(numerator: torch.Tensor, denominator: torch.Tensor) -> torch.Tensor:
    """Return numerator / denominator, not negative and positive, rounded, halves up.

    Parameters
    ----------
    numerator : torch.Tensor
        int64, 0 to 2**62 - 1; 2 * numerator + denominator must fit int64.
    denominator : torch.Tensor
        int64, 1 to 2**62 - 1.

    Returns
    -------
    torch.Tensor
        int64, at least 0.
    """
    return torch.div(2 * numerator + denominator, 2 * denominator, rounding_mode="floor")


def reached(value: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
    """Return how many of the ascending `thresholds` each value is at least as great as.

    Parameters
    ----------
    value : torch.Tensor
        int64 codes, any shape.
    thresholds : torch.Tensor, shape (n,)
        int64, ascending.

    Returns
    -------
    torch.Tensor
        int64, 0 to n, of the shape of `value`.
    """
    return torch.searchsorted(thresholds, value.contiguous(), right=True)


def power_of(exponent: torch.Tensor) -> torch.Tensor:
    """Return 2**exponent as int64.

    Parameters
    ----------
    exponent : torch.Tensor
        int64, 0 to 62.

    Returns
    -------
    torch.Tensor
        int64, of the shape of `exponent`.
    """
    return torch.ones_like(exponent) << exponent


# Norms of codes: the algorithms of `mfsim/ops/norm/root_norms.py` and `mfsim/ops/norm/shift_norms.py` in int64.
#
# Parameters that every function has:
#
#     x           values on x_scale, shape [..., N]
#     gamma       values on gamma_scale, shape [N]
#     beta        values on y_scale, shape [N]
#     eps         int64: added under the root, in units of V 4**-G
#     guard       int64: 2**G
#     recip_one   int64: 2**K, for the form with one reciprocal
#     gamma_pow   int64, shape [N]: gains 2**g as codes 2**(g + 8)
#     thresholds  int64: from which statistic on the row is divided by 2, 4, ...
#     y_scale     the grid of the result


def integer_root(radicand: torch.Tensor) -> torch.Tensor:
    """Return the floor of the square root of int64 in 0 .. 2**62 - 1, exactly.

    Parameters
    ----------
    radicand : torch.Tensor
        int64, 0 to 2**62 - 1.

    Returns
    -------
    torch.Tensor
        int64, 0 to 2**31 - 1, of the shape of `radicand`.
    """
    root = radicand.to(torch.float64).sqrt().to(torch.int64)
    root = root - (root * root > radicand).to(torch.int64)
    return root + ((root + 1) * (root + 1) <= radicand).to(torch.int64)
