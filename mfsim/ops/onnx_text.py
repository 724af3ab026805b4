"""Pieces of ONNX text that several bodies use."""

from __future__ import annotations

ROOT_BITS = 31
"""Bits of the root of a radicand below 2**62."""

# Pieces of ONNX text that several bodies use.


def choices(attribute: str, names: tuple[str, ...], value: str) -> str:
    """Return the text that sets `is_<name>`, a bool [1], for each of `names` that the string `attribute` may be.

    `value` is the name of any int64 [1] of 0 in the body. All strings go through one Concat: the
    reference evaluator of onnx compares strings only if they come from one array.

    Parameters
    ----------
    attribute : str
        Name of a string attribute.
    names : tuple of str
        Values that it may have.
    value : str
        Name of an int64 [1] of 0.

    Returns
    -------
    str
        Statements in the syntax of `onnx.parser`.
    """
    listed = ", ".join(f'"{name}"' for name in names)
    lines = [
        f"{attribute}_given = Constant <value_string: string = @{attribute}> ()",
        f"{attribute}_row = Unsqueeze ({attribute}_given, {value})",
        f"{attribute}_names = Constant <value_strings = [{listed}]> ()",
        f"{attribute}_all = Concat <axis = 0> ({attribute}_row, {attribute}_names)",
        f"{attribute}_own_place = Constant <value_ints = [0]> ()",
        f"{attribute}_own = Gather ({attribute}_all, {attribute}_own_place)",
    ]
    for place, name in enumerate(names):
        lines += [
            f"{attribute}_place_{place} = Constant <value_ints = [{place + 1}]> ()",
            f"{attribute}_name_{place} = Gather ({attribute}_all, {attribute}_place_{place})",
            f"is_{name} = Equal ({attribute}_own, {attribute}_name_{place})",
        ]
    return "\n    ".join(lines)


# Pieces of ONNX text that the norms share. Definitions: mfsim/ops/norm/definition.py, mfsim/ops/norm/root_norms.py.
#
# Between `X / x_scale` and `code * y_scale` everything is int64. Sums are products with a column of ones,
# which are exact. The integer root starts from the double one, which is off by at most 1 below 2**62, and is
# corrected on both sides.

INTEGER_ROOT = """
    W_real = Cast <to = 11> (W)
    root_real = Sqrt (W_real)
    r0 = Cast <to = 7> (root_real)
    r0_square = Mul (r0, r0)
    is_above = Greater (r0_square, W)
    above = Cast <to = 7> (is_above)
    r1 = Sub (r0, above)
    r1_next = Add (r1, one)
    r1_square = Mul (r1_next, r1_next)
    is_below = LessOrEqual (r1_square, W)
    below = Cast <to = 7> (is_below)
    r2 = Add (r1, below)
"""
"""r2, the integer root of W."""


# Pieces of the integer bodies that the norms share: sums by products with ones, an integer root in 31 steps.
#
# The root is found bit by bit, without a float: a bit stays where the square is at most the radicand.


def root_text() -> str:
    """Return the text from `w` to `found`, its integer root."""
    lines = ["zero64 = Constant<value_int: int = 0>()", "found_31 = CastLike(zero64, w)"]
    for bit in reversed(range(ROOT_BITS)):
        lines += [
            f"bit64_{bit} = Constant<value_int: int = {1 << bit}>()",
            f"bit_{bit} = CastLike(bit64_{bit}, w)",
            f"tried_{bit} = Add(found_{bit + 1}, bit_{bit})",
            f"square_{bit} = Mul(tried_{bit}, tried_{bit})",
            f"fits_{bit} = GreaterOrEqual(w, square_{bit})",
            f"found_{bit} = Where(fits_{bit}, tried_{bit}, found_{bit + 1})",
        ]
    return "\n  " + "\n  ".join([*lines, "found = Identity(found_0)"])
