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


STAGES = f"""
    half_t = Div (one_t, two)
    fine = Mul (q, one_g)
    stages = Shape <end = 1> (places)
    count = Squeeze (stages)
    go = Cast <to = 9> (one)
    v = Loop (count, go, fine) <
        body = stage (int64 step, bool go_on, u) => (goes_on, w) {{
            goes_on = Identity (go_on)
            from = Gather <axis = 0> (places, step)
            by = Gather <axis = 0> (weights, step)
            {"".join(taken("from", name, k) for k, name in enumerate(("kept_place", "real_place", "other_place")))}
            {"".join(taken("by", name, k) for k, name in enumerate(("keep", "turn", "of_real", "of_other")))}
            kept = Gather <axis = -1> (u, kept_place)
            real = Gather <axis = -1> (u, real_place)
            other = Gather <axis = -1> (u, other_place)
            real_part = Mul (real, of_real)
            other_part = Mul (other, of_other)
            product = Add (real_part, other_part)
            raised = Add (product, half_t)
            rest = Mod (raised, one_t)
            whole = Sub (raised, rest)
            turned = Div (whole, one_t)
            first = Mul (kept, keep)
            second = Mul (turned, turn)
            w = Add (first, second)
        }}
    >
"""
"""From q to v, the codes behind the last stage; `one`, `two`, `one_t` and `one_g` must be there."""
