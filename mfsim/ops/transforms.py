"""What the fixed-point transforms `dct` and `dft_magnitude` ask of their inputs."""

from __future__ import annotations

from collections.abc import Callable

from mfsim.errors import FormatError, ShapeError
from mfsim.program import Tensor


def length_and_bits(
    op: str, x: Tensor, what: str, table: Tensor, expected: Callable[[int, int], tuple[int, ...]]
) -> tuple[int, int]:
    """Return n, the length of the last axis of x, and T: the constants of `op` lie on 2**-T.

    `what` names the constants, and `expected(n, T)` are their codes; it raises `ShapeError` for lengths that
    the transform does not have.

    Raises
    ------
    ShapeError, FormatError
        If x has no axis or several scales, or the constants are others.
    """
    if len(x.shape) < 2:
        raise ShapeError(f"x of op `{op}` must have an axis behind the batch, not {x.shape}")
    if x.scale.axis is not None:
        raise FormatError(f"x of op `{op}` must have one scale; requantize first")
    n = int(x.shape[-1])
    if not table.is_constant:
        raise FormatError(f"the {what} of op `{op}` must be a constant")
    assert table.codes is not None
    bits = -table.scale.exponents[0]
    if table.scale.axis is not None or tuple(int(code) for code in table.codes.reshape(-1)) != expected(n, bits):
        raise FormatError(f"the {what} of op `{op}` must be those of {n} codes on their scale")
    return n, bits
