"""What the built-in networks are made of: norms and MLPs by name, one transformer block, planes of images."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.nn.attention import Attention
from mfsim.nn.attention.unit import through
from mfsim.nn.elementwise import Add, Mul
from mfsim.nn.norms import LayerNorm, RMSNorm, ShiftNorm
from mfsim.nn.projections import KINDS, make_linear
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d
from mfsim.nn.wht import WHTLayer, next_power_of_two

# What the transformers are built of: norms by name, MLPs by name, one block.

_ROW_NORMS: dict[str, Callable[[int, float], nn.Module]] = {
    "layer": lambda width, eps: LayerNorm(width, eps),
    "layer-reciprocal": lambda width, eps: LayerNorm(width, eps, "reciprocal"),
    "rms": lambda width, eps: RMSNorm(width, eps),
    "rms-reciprocal": lambda width, eps: RMSNorm(width, eps, "reciprocal"),
    "shift-l1": lambda width, eps: ShiftNorm(width, "l1"),
    "shift-l2": lambda width, eps: ShiftNorm(width, "l2"),
}

NORMS = (*_ROW_NORMS, "shift-batch", "none")
"""Norms in front of attention and MLP; shift-batch stands behind every product instead, where it folds."""

MLPS = ("gelu", "relu", "silu", "swiglu", "mf", "power-of-two", "wht", "none")
"""Dense layers around a nonlinearity; gated; MF or power-of-two layers around a ReLU; a `WHTLayer`; nothing."""

_NONLINEAR: dict[str, type[nn.Module]] = {"gelu": nn.GELU, "silu": nn.SiLU}
"""Every other MLP has a ReLU."""


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise `FormatError` unless `value` is one of `allowed`.

    Parameters
    ----------
    name : str
        What the message calls the option.
    value : str
    allowed : tuple of str

    Raises
    ------
    FormatError
        If `value` is not one of `allowed`.
    """
    if value not in allowed:
        raise FormatError(
            f"`{name}` must be one of {', '.join(allowed)}, not {value!r}{did_you_mean(str(value), allowed)}"
        )


def make_norm(kind: str, width: int, eps: float = 1e-5) -> nn.Module | None:
    """Return the norm in front of a part of a block, None where there is none.

    Parameters
    ----------
    kind : str
        One of `NORMS`.
    width : int, at least 1
        Features.
    eps : float, at least 0
        Added under the root; norms of shifts have none.

    Returns
    -------
    torch.nn.Module or None
        From [..., width] to the same shape; None for shift-batch and none.

    Raises
    ------
    FormatError
        If `kind` is unknown.
    """
    check_choice("norm", kind, NORMS)
    return _ROW_NORMS[kind](width, eps) if kind in _ROW_NORMS else None


class SwiGLU(nn.Module):
    """down(silu(gate(x)) * up(x)), after Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202."""

    def __init__(self, width: int, hidden: int, bias: bool) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden, bias=bias), nn.Linear(width, hidden, bias=bias)
        self.silu, self.mul = nn.SiLU(), Mul()
        self.down = nn.Linear(hidden, width, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output, of the shape of x.

        Parameters
        ----------
        x : float tensor, shape [..., width]

        Returns
        -------
        float tensor, shape [..., width]
        """
        y: torch.Tensor = self.down(self.mul(self.silu(self.gate(x)), self.up(x)))
        return y


def make_mlp(kind: str, width: int, hidden: int, *, norm: str = "none", bias: bool = True) -> nn.Module | None:
    """Return the MLP from `width` over `hidden` back to `width`, None for none.

    A WHT-domain layer ("wht") is as wide as its transform, so `hidden` does not touch it; a width that is
    no power of two is cut into blocks.

    Parameters
    ----------
    kind : str
        One of `MLPS`.
    width, hidden : int, at least 1
        Features.
    norm : str
        One of `NORMS`; with shift-batch a batch norm follows each product, in place of biases.
    bias : bool
        Whether the products have biases.

    Returns
    -------
    torch.nn.Module or None
        From [..., width] to the same shape; None for "none".

    Raises
    ------
    FormatError
        If `kind` is unknown.
    """
    check_choice("mlp", kind, MLPS)
    if kind == "none":
        return None
    if kind == "wht":
        return WHTLayer(width, layout="features", residual=False, size="block", norm=norm == "shift-batch")
    if kind == "swiglu":
        return SwiGLU(width, hidden, bias)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, (inputs, outputs) in enumerate(((width, hidden), (hidden, width)), start=1):
        own = bias and norm != "shift-batch"
        layers[f"linear{number}"] = make_linear(kind if kind in KINDS else "dense", inputs, outputs, own)
        if norm == "shift-batch":
            layers[f"norm{number}"] = ShiftBatchNorm1d(outputs)
        if number == 1:
            layers[kind if kind in _NONLINEAR else "relu"] = _NONLINEAR.get(kind, nn.ReLU)()
    return nn.Sequential(layers)


class Block(nn.Module):
    """x + attention(norm1(x)), then x + mlp(norm2(x)); without an MLP there is no second norm either.

    Parameters
    ----------
    attention : Attention
    norm : str
        One of `NORMS`.
    mlp : module or None
        As `make_mlp` returns it.
    residual : bool
        Whether the inputs are added.
    """

    def __init__(
        self, attention: Attention, norm: str, mlp: nn.Module | None, *, eps: float = 1e-5, residual: bool = True
    ) -> None:
        super().__init__()
        self.norm1 = make_norm(norm, attention.width, eps)
        self.attention = attention
        self.add1 = Add() if residual else None
        self.norm2 = make_norm(norm, attention.width, eps) if mlp is not None else None
        self.mlp = mlp
        self.add2 = Add() if residual and mlp is not None else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output.

        Parameters
        ----------
        x : float tensor, shape [N, T, width]

        Returns
        -------
        float tensor, shape [N, T, width]
        """
        return self.behind_attention(x, self.attention(through(self.norm1, x)))

    def behind_attention(self, x: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """Return the block's output for its input and what the attention unit made of it.

        Parameters
        ----------
        x : float tensor, shape [N, T, width]
            The block's input.
        attended : float tensor, shape [N, T, width]
            The output of the attention unit.

        Returns
        -------
        float tensor, shape [N, T, width]
        """
        x = attended if self.add1 is None else self.add1(x, attended)
        if self.mlp is None:
            return x
        y: torch.Tensor = self.mlp(through(self.norm2, x))
        if self.add2 is not None:
            y = self.add2(x, y)
        return y


# Planes of the built-in networks: the first convolution pads an image to powers of two.
#
# So every mean is over a power of two of values, and a Walsh-Hadamard transform fits every plane. The
# padding belongs to the convolution, so the network's input stays the image itself.

LEAST = 4
"""Least side of a plane: it is halved twice."""


def first_padding(input_shape: tuple[int, int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return ((rows, columns) of padding, plane behind) for a 3x3 convolution of images (C, H, W).

    Parameters
    ----------
    input_shape : (C, H, W)
        Of one image, each at least 1.

    Returns
    -------
    tuple of two (int, int)
        Zeros on each side, and the sides behind, powers of two of at least 4.

    Raises
    ------
    ShapeError
        If a side is odd and no power of two: it cannot be padded evenly.
    """
    _, rows, columns = input_shape
    plane = max(LEAST, next_power_of_two(rows)), max(LEAST, next_power_of_two(columns))
    missing = plane[0] - rows, plane[1] - columns
    if missing[0] % 2 or missing[1] % 2:
        raise ShapeError(f"images must have even sides, so that they can be padded evenly, not {rows} x {columns}")
    return (1 + missing[0] // 2, 1 + missing[1] // 2), plane
