"""Pieces of ONNX text that the fixed-point transforms share. Definitions: mfsim/derived/dft.py, mfsim/derived/dct.py.

A Loop goes through the stages, each of which gathers and adds; everything is int64.
"""

from __future__ import annotations

CODES = """
    scaled = Div (X, x_scale)
    nearest = Round (scaled)
    q = Cast <to = 7> (nearest)
"""
"""The codes q of X."""


def taken(source: str, row: str, place: int) -> str:
    """Return the text that makes `row` the given row of `source`."""
    return f"{row}_at = Constant <value_int = {place}> ()\n    {row} = Gather <axis = 0> ({source}, {row}_at)\n    "


def through_stages(start: str, end: str, mark: str = "") -> str:
    """Return the text from codes `start` to `end`, the codes behind the last stage.

    `mark` ends the names within, where one body goes through the stages twice. What `BEFORE` makes must be there.
    """
    at = "".join(
        taken(f"from{mark}", f"{name}{mark}", k) for k, name in enumerate(("kept_place", "real_place", "other_place"))
    )
    by = "".join(
        taken(f"by{mark}", f"{name}{mark}", k) for k, name in enumerate(("keep", "turn", "of_real", "of_other"))
    )
    return f"""
    {end} = Loop (count, go, {start}) <
        body = stage{mark} (int64 step{mark}, bool go_on{mark}, u{mark}) => (goes_on{mark}, w{mark}) {{
            goes_on{mark} = Identity (go_on{mark})
            from{mark} = Gather <axis = 0> (places, step{mark})
            by{mark} = Gather <axis = 0> (weights, step{mark})
            {at}
            {by}
            kept{mark} = Gather <axis = -1> (u{mark}, kept_place{mark})
            real{mark} = Gather <axis = -1> (u{mark}, real_place{mark})
            other{mark} = Gather <axis = -1> (u{mark}, other_place{mark})
            real_part{mark} = Mul (real{mark}, of_real{mark})
            other_part{mark} = Mul (other{mark}, of_other{mark})
            product{mark} = Add (real_part{mark}, other_part{mark})
            raised{mark} = Add (product{mark}, half_t)
            rest{mark} = Mod (raised{mark}, one_t)
            whole{mark} = Sub (raised{mark}, rest{mark})
            turned{mark} = Div (whole{mark}, one_t)
            first{mark} = Mul (kept{mark}, keep{mark})
            second{mark} = Mul (turned{mark}, turn{mark})
            w{mark} = Add (first{mark}, second{mark})
        }}
    >
"""


def floored(start: str, end: str, divisor: str, half: str) -> str:
    """Return the text from `start` to `end` = (start + half) / divisor, floored, divisor > 0; names begin with `end`."""
    return f"""
    {end}_raised = Add ({start}, {half})
    {end}_rest = Mod ({end}_raised, {divisor})
    {end}_whole = Sub ({end}_raised, {end}_rest)
    {end} = Div ({end}_whole, {divisor})
"""


BEFORE = """
    half_t = Div (one_t, two)
    stages = Shape <end = 1> (places)
    count = Squeeze (stages)
    go = Cast <to = 9> (one)
"""
STAGES = BEFORE + "\n    fine = Mul (q, one_g)\n" + through_stages("fine", "v")
"""From q to v, the codes behind the last stage; `one`, `two`, `one_t` and `one_g` must be there."""
