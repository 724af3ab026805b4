"""Pieces of ONNX text that several bodies use."""

from __future__ import annotations


def choices(attribute: str, names: tuple[str, ...], value: str) -> str:
    """Return the text that sets `is_<name>`, a bool [1], for each of `names` that the string `attribute` may be.

    `value` is the name of any int64 [1] of 0 in the body. All strings go through one Concat: the
    reference evaluator of onnx compares strings only if they come from one array.
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
