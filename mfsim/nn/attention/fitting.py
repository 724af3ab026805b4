"""Whether an attention unit fits a width and a number of tokens; if not, what would."""

from __future__ import annotations

from mfsim.errors import ShapeError
from mfsim.nn.attention.config import AttentionConfig
from mfsim.nn.wht import next_power_of_two


def check_width(config: AttentionConfig, width: int) -> int:
    """Return the head width n for a unit of `width` features.

    Parameters
    ----------
    config : AttentionConfig
        Options of the unit.
    width : int
        Features of a token, a multiple of `config.heads`.

    Returns
    -------
    int
        width / heads.

    Raises
    ------
    ShapeError
        If `width` is no multiple of the heads, or no transform fits it.
    """
    if width < 1 or width % config.heads:
        raise ShapeError(f"`width` must be a multiple of `heads`, which is {config.heads}, not {width}")
    n = width // config.heads
    if "wht" in config.transforms.values() and n != next_power_of_two(n):
        below, above = next_power_of_two(n) // 2, next_power_of_two(n)
        raise ShapeError(
            f"a Walsh-Hadamard transform of each head needs a head width that is a power of two, not {n} "
            f"({width} / {config.heads} heads); {below} and {above} are, so `width` {below * config.heads} or "
            f"{above * config.heads} would do"
        )
    if config.rope and n % 2:
        raise ShapeError(f"rotary positions need a head width that is even, not {n} ({width} / {config.heads} heads)")
    if config.output == "hadamard" and config.hadamard_size == "exact" and width != next_power_of_two(width):
        block = width & -width
        raise ShapeError(
            f"the transform in place of W_O needs a `width` that is a power of two, not {width}; "
            f"use `hadamard_size` pad (zeros up to {next_power_of_two(width)})"
            + (f" or block (blocks of {block})" if block > 1 else "")
        )
    return n


def check_grid(config: AttentionConfig, tokens: int, grid: tuple[int, int] | None) -> tuple[int, int]:
    """Return (side of the grid of patches, tokens in front of it) for the filterbank; (0, 0) without one.

    Parameters
    ----------
    config : AttentionConfig
        Options of the unit.
    tokens : int
        Number of tokens, with a class token if there is one.
    grid : (int, int) or None
        Rows and columns of patches; None derives the side from `tokens`.

    Returns
    -------
    (int, int)
        Side, and 0 or 1 tokens in front.

    Raises
    ------
    ShapeError
        If the grid is not square, or the tokens are no square grid with at most one token in front.
    """
    if not config.mixes_tokens():
        return 0, 0
    if grid is not None and grid[0] != grid[1]:
        low, high = sorted(grid)
        raise ShapeError(
            f"a filterbank needs a square grid of patches, not {grid[0]} x {grid[1]}; "
            f"{low} x {low} or {high} x {high} would do"
        )
    side = int(tokens**0.5) if grid is None else grid[0]
    if side < 1 or tokens - side * side not in (0, 1):
        raise ShapeError(
            f"a filterbank needs a square grid of patches, with at most one class token in front: "
            f"{side * side} or {side * side + 1} tokens would do, or {(side + 1) ** 2}, not {tokens}"
        )
    return side, tokens - side * side
