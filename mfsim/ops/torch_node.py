"""A torch function as one ONNX node when it is exported; checks of its options, windows and pads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch.nn import functional as F

from mfsim.errors import FormatError, ShapeError, did_you_mean

DOMAIN = "org.mfsim"

OBSERVERS: list[Callable[[str, Callable[[], torch.Tensor]], torch.Tensor]] = []
"""The last one runs each operation that is called; `mfsim.op_counter` so knows operations from the torch inside them."""

Operation = TypeVar("Operation", bound=Callable[..., torch.Tensor])


def observed(operation: Operation) -> Operation:
    """Let the last observer, if there is one, run `operation`: it gets its name and how to run it.

    Parameters
    ----------
    operation : callable
        A torch function that returns one tensor.

    Returns
    -------
    callable
        Of the same arguments.
    """

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
    """Return the output, of `shape` and the type of the first input, of one exported node `org.mfsim::op`.

    Parameters
    ----------
    op : str
        Name of the op in the domain `org.mfsim`.
    inputs : sequence of torch.Tensor
        At least one.
    attributes : dict
        Attributes of the node.
    shape : sequence of int
        Shape of the output.

    Returns
    -------
    torch.Tensor
        The symbolic output.
    """
    x = inputs[0]
    return torch.onnx.ops.symbolic(f"{DOMAIN}::{op}", inputs, attributes, dtype=x.dtype, shape=tuple(shape), version=1)


def choice(name: str, value: object, allowed: Sequence[object]) -> None:
    """Raise `FormatError` unless `value` is one of `allowed`.

    Parameters
    ----------
    name : str
        Name of the option, for messages.
    value : object
        What was given.
    allowed : sequence
        What it may be.

    Raises
    ------
    FormatError
        If it is none of them; the message names a close one.
    """
    if value not in allowed:
        shown = [str(a) for a in allowed]
        hint = did_you_mean(value, shown) if isinstance(value, str) else ""
        raise FormatError(f"`{name}` must be one of {', '.join(shown)}, not {value!r}{hint}")


def pair(name: str, value: int | Sequence[int], least: int = 1) -> tuple[int, int]:
    """Return `value` as two ints, each at least `least`; `ShapeError` names `name` otherwise.

    Parameters
    ----------
    name : str
        Name of the option, for messages.
    value : int or sequence of int
        One int stands for both.
    least : int
        Smallest value allowed.

    Returns
    -------
    tuple of int
        (rows, columns).

    Raises
    ------
    ShapeError
        If `value` is anything else.
    """
    values = (value, value) if isinstance(value, int) else tuple(value)
    if len(values) != 2 or any(not isinstance(v, int) or v < least for v in values):
        raise ShapeError(f"`{name}` must be one or two ints of at least {least}, not {value!r}")
    return values


def four_pads(value: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Return padding as (top, left, bottom, right), from one int, a pair (rows, columns) or all four.

    Parameters
    ----------
    value : int or sequence of int
        Places of padding, each at least 0.

    Returns
    -------
    tuple of int
        (top, left, bottom, right).

    Raises
    ------
    ShapeError
        If `value` is anything else.
    """
    values = (value,) * 4 if isinstance(value, int) else tuple(value)
    values = values * 2 if len(values) == 2 else values
    if len(values) != 4 or any(not isinstance(v, int) or v < 0 for v in values):
        raise ShapeError(f"`padding` must be one, two or four ints of at least 0, not {value!r}")
    return values


def check_area(kernel: tuple[int, int]) -> None:
    """Raise `FormatError` unless rows * columns of `kernel` is a power of two.

    Parameters
    ----------
    kernel : tuple of int
        Rows and columns, both at least 1.

    Raises
    ------
    FormatError
        If the area is no power of two.
    """
    area = kernel[0] * kernel[1]
    if area & (area - 1):
        raise FormatError(f"the area of a mean's window must be a power of two, not {kernel[0]} x {kernel[1]} = {area}")


def zero_pad(x: torch.Tensor, pads: tuple[int, int, int, int]) -> torch.Tensor:
    """Return x with zeros at the (top, left, bottom, right) of its planes.

    Parameters
    ----------
    x : torch.Tensor, shape (..., H, W)
        Values.
    pads : tuple of int
        Places of padding, each at least 0.

    Returns
    -------
    torch.Tensor, shape (..., H + top + bottom, W + left + right)
        x itself where nothing is padded.
    """
    top, left, bottom, right = pads
    return F.pad(x, (left, right, top, bottom)) if any(pads) else x


def window_size(
    x: torch.Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int] = (1, 1),
) -> list[int]:
    """Return rows and columns of what windows over x [N, C, H, W] give; a `ShapeError` where none fits.

    Parameters
    ----------
    x : torch.Tensor, shape (N, C, H, W)
        Values.
    kernel, strides, dilations : sequence of int
        Of rows and columns, each at least 1.
    pads : sequence of int
        (top, left, bottom, right), each at least 0.

    Returns
    -------
    list of int
        [rows, columns], both at least 1.

    Raises
    ------
    ShapeError
        If a window is larger than the padded plane.
    """
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
