"""The operations of `mfsim.ops` as differentiable torch functions.

In eager mode each is ordinary torch maths on float tensors. On values = codes * 2**e the result is
the integer result exactly, as long as every partial sum, in units of the finest grid, is at most
2**24 in float32 (2**53 in float64); in which order it is summed does not matter then. While
torch.onnx exports, each function leaves one node of the domain `org.mfsim` instead.

Gradients: `sign` inside the MF products is hard forward and tanh' backward (`mfsim/nn/signs.py`);
everything else is plain autograd. `Accumulator` with `wrap` passes its gradient straight through.
`grid` says where an integer accumulator lies; it changes no real value and travels as an attribute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch.nn import functional as F

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.formats import Overflow
from mfsim.nn.signs import hard_sign
from mfsim.ops.products import FORMS, GRIDS
from mfsim.ops.wht import ORDERS, block_length, norm_exponent

DOMAIN = "org.mfsim"
RADIX = 64
"""Longest Walsh-Hadamard transform done as one product with H; longer ones are split."""


Operation = TypeVar("Operation", bound=Callable[..., torch.Tensor])
OBSERVERS: list[Callable[[str, Callable[[], torch.Tensor]], torch.Tensor]] = []
"""The last one runs each operation that is called; `mfsim.shapes` so knows operations from the torch inside them."""


def observed(operation: Operation) -> Operation:
    """Let the last observer, if there is one, run `operation`: it gets its name and how to run it."""

    @functools.wraps(operation)
    def run(*arguments: Any, **options: Any) -> torch.Tensor:
        if not OBSERVERS:
            return operation(*arguments, **options)
        return OBSERVERS[-1](operation.__name__, lambda: operation(*arguments, **options))

    return cast(Operation, run)


def exporting() -> bool:
    """Whether torch.onnx exports just now, so that operations leave nodes of their own."""
    return torch.onnx.is_in_onnx_export() and not torch.jit.is_tracing()  # type: ignore[attr-defined]


def emitted(op: str, inputs: Sequence[torch.Tensor], attributes: dict[str, Any], shape: Sequence[int]) -> torch.Tensor:
    """Return the output, of `shape` and the type of the first input, of one exported node `org.mfsim::op`."""
    x = inputs[0]
    return torch.onnx.ops.symbolic(f"{DOMAIN}::{op}", inputs, attributes, dtype=x.dtype, shape=tuple(shape), version=1)


def _choice(name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        shown = [str(a) for a in allowed]
        hint = did_you_mean(value, shown) if isinstance(value, str) else ""
        raise FormatError(f"`{name}` must be one of {', '.join(shown)}, not {value!r}{hint}")


def mf_attributes(form: str, sign_zero: int, grid: str) -> dict[str, Any]:
    """Return the three attributes of an MF product, checked."""
    _choice("form", form, FORMS)
    _choice("sign_zero", sign_zero, (0, 1))
    _choice("grid", grid, GRIDS)
    return {"form": form, "sign_zero": int(sign_zero), "grid": grid}


def pair(name: str, value: int | Sequence[int], least: int = 1) -> tuple[int, int]:
    """Return `value` as two ints, each at least `least`; `ShapeError` names `name` otherwise."""
    values = (value, value) if isinstance(value, int) else tuple(value)
    if len(values) != 2 or any(not isinstance(v, int) or v < least for v in values):
        raise ShapeError(f"`{name}` must be one or two ints of at least {least}, not {value!r}")
    return values


def four_pads(value: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Return padding as (top, left, bottom, right), from one int, a pair (rows, columns) or all four."""
    values = (value,) * 4 if isinstance(value, int) else tuple(value)
    values = values * 2 if len(values) == 2 else values
    if len(values) != 4 or any(not isinstance(v, int) or v < 0 for v in values):
        raise ShapeError(f"`padding` must be one, two or four ints of at least 0, not {value!r}")
    return values


def check_area(kernel: tuple[int, int]) -> None:
    """Raise `FormatError` unless rows * columns of `kernel` is a power of two."""
    area = kernel[0] * kernel[1]
    if area & (area - 1):
        raise FormatError(f"the area of a mean's window must be a power of two, not {kernel[0]} x {kernel[1]} = {area}")


def zero_pad(x: torch.Tensor, pads: tuple[int, int, int, int]) -> torch.Tensor:
    """Return x with zeros at the (top, left, bottom, right) of its planes."""
    top, left, bottom, right = pads
    return F.pad(x, (left, right, top, bottom)) if any(pads) else x


def window_size(
    x: torch.Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int] = (1, 1),
) -> list[int]:
    """Return rows and columns of what windows over x [N, C, H, W] give; a `ShapeError` where none fits."""
    sizes = []
    for k in range(2):
        span = dilations[k] * (kernel[k] - 1) + 1
        padded = x.shape[2 + k] + pads[k] + pads[2 + k]
        if padded < span:
            raise ShapeError(
                f"a window of {span} does not fit the padded plane of {padded} of an input {tuple(x.shape)}"
            )
        sizes.append((padded - span) // strides[k] + 1)
    return sizes


@functools.lru_cache
def _hadamard(n: int) -> np.ndarray:
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


@functools.lru_cache
def _natural_rows(n: int, order: str) -> list[int]:
    """Return the natural row of each row: its bits in reverse, of its Gray code for sequency."""
    digits = n.bit_length() - 1
    codes = [s ^ (s >> 1) if order == "sequency" else s for s in range(n)]
    return [int(f"{code:0{digits}b}"[::-1], 2) for code in codes] if n > 1 else [0]


def _transform(x: torch.Tensor, n: int) -> torch.Tensor:
    """Return H x along the last axis of length n, natural order: H_(a b) is H_a (x) H_b."""
    low = min(n, RADIX)
    y = x.reshape(-1, n // low, low) @ x.new_tensor(_hadamard(low))
    if n > low:
        y = _transform(y.transpose(1, 2), n // low).transpose(1, 2)
    return y.reshape(x.shape)


@observed
def wht(
    x: torch.Tensor, *, block: int = 0, dims: int = 1, order: str = "natural", norm: str = "none", inverse: bool = False
) -> torch.Tensor:
    """Return the Walsh-Hadamard transform of the last axis, or of the last two.

    Parameters
    ----------
    x : tensor, shape [..., n]
        n is a power of two, or a multiple of `block`.
    block : int
        Transform blocks of this power of two; 0 for the whole axis.
    dims : {1, 2}
        How many of the last axes are transformed.
    order : {"natural", "sequency", "dyadic"}
        Rows as Sylvester made them, sorted by their number of sign changes, or as Paley made them.
    norm : {"none", "shift", "ortho"}
        Factor 1; 2**-floor(q/2) forward and 2**-ceil(q/2) back; 2**(-q/2), for even q only. q is log2
        of the product of the transformed lengths.
    inverse : bool
        Use the norm of the way back.

    Returns
    -------
    tensor of the shape of x; B-bit codes give codes of B + q bits, exact.

    Raises
    ------
    ShapeError
        If a length is no power of two, or `block` does not divide its axis.
    FormatError
        If `norm` is ortho and q is odd, or an option is unknown.
    """
    _choice("dims", dims, (1, 2))
    _choice("order", order, ORDERS)
    _choice("norm", norm, ("none", "shift", "ortho"))
    if x.ndim < 1 + dims:
        raise ShapeError(f"`dims` {dims} of a transform needs {dims} axes behind the batch, not shape {tuple(x.shape)}")
    lengths = {-1 - k: block_length(int(x.shape[-1 - k]), block) for k in range(dims)}
    gain = 2.0 ** norm_exponent(sum(n.bit_length() - 1 for n in lengths.values()), norm, int(inverse))
    if exporting():
        attributes = {"block": block, "dims": dims, "order": order, "norm": norm, "inverse": int(inverse)}
        return emitted("WHT", (x,), attributes, x.shape)
    for axis, n in lengths.items():
        moved = x.movedim(axis, -1)
        blocks = _transform(moved.reshape(*moved.shape[:-1], moved.shape[-1] // n, n), n)
        if order != "natural":
            blocks = blocks[..., _natural_rows(n, order)]
        x = blocks.reshape(moved.shape).movedim(-1, axis)
    return x * gain if gain != 1 else x


def _mf(
    product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    w: torch.Tensor,
    form: str,
    zero: int,
) -> torch.Tensor:
    """Return the MF sum of x and w where `product` is the ordinary bilinear one."""
    signs = hard_sign(x, zero), hard_sign(w, zero)
    if form == "abs":
        x, w = x.abs(), w.abs()
    return product(x, signs[1]) + product(signs[0], w)


@observed
def mf_mul(
    x: torch.Tensor, w: torch.Tensor, *, form: str = "ef", sign_zero: int = 0, grid: str = "split"
) -> torch.Tensor:
    """Return the MF operator in place of x * w, element by element, with broadcasting.

    `form` ef is sign(w) x + sign(x) w; abs is sign(w) |x| + sign(x) |w|. `sign_zero` (0 or 1) is the
    sign of 0. Sources: `mfsim/ops/products.py`.
    """
    attributes = mf_attributes(form, sign_zero, grid)
    if exporting():
        return emitted("MFMul", (x, w), attributes, torch.broadcast_shapes(x.shape, w.shape))
    return _mf(torch.mul, x, w, form, sign_zero)


@observed
def mf_matmul(
    x: torch.Tensor, w: torch.Tensor, *, form: str = "ef", sign_zero: int = 0, grid: str = "split"
) -> torch.Tensor:
    """Return the matrix product of x [..., K] and w with the MF operator as multiplication.

    `w` is [K, O], or [..., K, O] with the leading axes of x [..., M, K]. Options as in `mf_mul`.
    Two ordinary products with signs, 2K - 1 additions for each output on a device.
    """
    attributes = mf_attributes(form, sign_zero, grid)
    if w.ndim < 2 or x.ndim < 1 or x.shape[-1] != w.shape[-2]:
        raise ShapeError(f"x {tuple(x.shape)} must end in K, and w must end in [K, O], not {tuple(w.shape)}")
    if exporting():
        return emitted("MFMatMul", (x, w), attributes, (*x.shape[:-1], w.shape[-1]))
    return _mf(torch.matmul, x, w, form, sign_zero)


@observed
def mf_conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    form: str = "ef",
    sign_zero: int = 0,
    grid: str = "split",
) -> torch.Tensor:
    """Return the 2-D convolution of x [N, C, H, W] with the MF operator as multiplication.

    `w` is [O, C / groups, kh, kw]. `padding` is one int, (rows, columns) or (top, left, bottom,
    right); zeros are put around x before the operator, so that with `sign_zero` 1 they count as
    positive. Options as in `mf_mul`.
    """
    attributes = mf_attributes(form, sign_zero, grid)
    strides, dilations, pads = pair("stride", stride), pair("dilation", dilation), four_pads(padding)
    if x.ndim != 4 or w.ndim != 4 or groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"x must be [N, C, H, W] and w [O, C / groups, kh, kw] with `groups` {groups}, not {tuple(x.shape)} and {tuple(w.shape)}"
        )
    plane = window_size(x, w.shape[2:], strides, pads, dilations)
    if exporting():
        attributes |= {"strides": list(strides), "pads": list(pads), "dilations": list(dilations), "group": groups}
        return emitted("MFConv", (x, w), attributes, (x.shape[0], w.shape[0], *plane))
    convolve = functools.partial(F.conv2d, stride=strides, dilation=dilations, groups=groups)
    return _mf(convolve, zero_pad(x, pads), w, form, sign_zero)


@observed
def soft_threshold(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return sign(x) max(|x| - t, 0) for thresholds t >= 0 that broadcast against x."""
    if exporting():
        return emitted("SoftThreshold", (x, t), {}, x.shape)
    return torch.sign(x) * torch.relu(x.abs() - t)


@observed
def shift(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """Return x * gain for gains that are powers of two and broadcast against x: a change of scale."""
    if exporting():
        return emitted("Shift", (x, gain), {}, x.shape)
    return x * gain


@observed
def sum_pool2d(
    x: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
) -> torch.Tensor:
    """Return the mean of each window of x [N, C, H, W]: its sum, on a scale divided by the area.

    The area must be a power of two, so that the division is a change of scale. Zeros of the padding
    count as values. `stride` is the kernel's size by default.

    Raises
    ------
    FormatError
        If the area of the window is no power of two.
    """
    kernel, pads = pair("kernel_size", kernel_size), four_pads(padding)
    strides = kernel if stride is None else pair("stride", stride)
    check_area(kernel)
    plane = window_size(x, kernel, strides, pads)
    if exporting():
        attributes = {"kernel_shape": list(kernel), "strides": list(strides), "pads": list(pads)}
        return emitted("SumPool", (x,), attributes, (*x.shape[:2], *plane))
    return F.avg_pool2d(zero_pad(x, pads), kernel, strides)


@observed
def accumulator(
    x: torch.Tensor,
    scale: torch.Tensor | float,
    bit_width: torch.Tensor | int,
    *,
    overflow: str = "saturate",
    signed: bool = True,
) -> torch.Tensor:
    """Return x, whose values are integers times `scale`, as a word of `bit_width` bits holds it.

    `overflow` saturate clamps to the ends of the word; wrap takes the code modulo 2**bit_width (its
    gradient passes straight through). `scale` broadcasts against x.
    """
    overflow = Overflow.parse(overflow).value
    scale = torch.as_tensor(scale, dtype=x.dtype, device=x.device)
    if exporting():
        bit_width = torch.as_tensor(bit_width, dtype=x.dtype, device=x.device)
        return emitted("Accumulator", (x, scale, bit_width), {"overflow": overflow, "signed": int(signed)}, x.shape)
    codes, modulus = x / scale, 2.0 ** int(bit_width)
    lo = -modulus / 2 if signed else 0.0
    if overflow == "saturate":
        return codes.clamp(lo, lo + modulus - 1) * scale
    wrapped = (codes - modulus * torch.floor((codes - lo) / modulus)) * scale
    return wrapped.detach() + (x - x.detach())


@observed
def table(
    x: torch.Tensor,
    x_scale: torch.Tensor | float,
    entries: torch.Tensor,
    first: torch.Tensor | int,
    y_scale: torch.Tensor | float,
) -> torch.Tensor:
    """Return `y_scale` times the entry for each x, whose values are integers times `x_scale`.

    Parameters
    ----------
    entries : int64 tensor, shape [size]
        Codes on `y_scale`: one for each code of x from `first` on; codes outside take the nearest one.
    first : int
        Code of x that belongs to the first entry.

    Returns
    -------
    tensor of the shape of x, without a gradient
    """
    x_scale, y_scale = (torch.as_tensor(scale, dtype=x.dtype, device=x.device) for scale in (x_scale, y_scale))
    if exporting():
        return emitted("Table", (x, x_scale, entries, torch.as_tensor(first, device=x.device), y_scale), {}, x.shape)
    places = torch.round(x.detach() / x_scale).to(torch.int64) - first
    return entries[places.clamp(0, len(entries) - 1)].to(x.dtype) * y_scale
