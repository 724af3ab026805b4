"""The stages of a fixed-point transform: a Loop, each turn of which gathers and adds. Definitions: mfsim/derived/dft.py, dct.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.export.integer_bodies.body import CODE, INDEX, Arrays

PLACES = ("kept_places", "met_places", "other_places")
WEIGHTS = ("keeps", "turns", "met_weights", "other_weights")
STAGE_INPUTS = {**dict.fromkeys(PLACES, INDEX), **dict.fromkeys(WEIGHTS, CODE)}
"""Names and kinds of the derived inputs that `STAGES` reads besides `one_t` = 2**T and `one_g` = 2**G."""

BEFORE = """
  go64 = Constant<value_int: int = 1>()
  go = Equal(go64, go64)
  half_t = Div(one_t, two)
  stages = Shape<end: int = 1>(kept_places)
  count = Squeeze(stages)
"""


def through_stages(start: str, end: str, mark: str = "") -> str:
    """Return the text from codes `start` to `end`, the codes behind the last stage.

    `mark` ends the names within, where one body goes through the stages twice. What `BEFORE` makes must be there.
    """
    rows = ("kept_place", "met_place", "other_place", "keep", "turn", "met_weight", "other_weight")
    taken = "".join(f"\n      {row}{mark} = Gather<axis: int = 0>({row}s, step{mark})" for row in rows)
    return f"""
  {end} = Loop(count, go, {start}) <
    body = stage{mark} (int64 step{mark}, bool go_on{mark}, u{mark}) => (goes_on{mark}, w{mark}) {{
      goes_on{mark} = Identity(go_on{mark}){taken}
      kept{mark} = Gather<axis: int = -1>(u{mark}, kept_place{mark})
      met{mark} = Gather<axis: int = -1>(u{mark}, met_place{mark})
      other{mark} = Gather<axis: int = -1>(u{mark}, other_place{mark})
      met_part{mark} = Mul(met{mark}, met_weight{mark})
      other_part{mark} = Mul(other{mark}, other_weight{mark})
      product{mark} = Add(met_part{mark}, other_part{mark})
      raised{mark} = Add(product{mark}, half_t)
      rest{mark} = Mod(raised{mark}, one_t)
      whole{mark} = Sub(raised{mark}, rest{mark})
      turned{mark} = Div(whole{mark}, one_t)
      first{mark} = Mul(kept{mark}, keep{mark})
      second{mark} = Mul(turned{mark}, turn{mark})
      w{mark} = Add(first{mark}, second{mark})
    }}
  >
"""


def floored(start: str, end: str, divisor: str, half: str) -> str:
    """Return the text from `start` to `end` = (start + half) / divisor, floored, divisor > 0; names begin with `end`."""
    return f"""
  {end}_raised = Add({start}, {half})
  {end}_rest = Mod({end}_raised, {divisor})
  {end}_whole = Sub({end}_raised, {end}_rest)
  {end} = Div({end}_whole, {divisor})
"""


STAGES = BEFORE + "  fine = Mul(x, one_g)\n" + through_stages("fine", "v")
"""From x to v, the codes behind the last stage; `two` must be there."""


def stage_arrays(places: Sequence[object], weights: Sequence[object]) -> Arrays:
    """Return the derived inputs for places [stages, 3, n] and weights [stages, 4, n]."""
    by_row = (np.array(stated, dtype=np.int64).transpose(1, 0, 2) for stated in (places, weights))
    return {
        name: rows
        for names, all_ in zip((PLACES, WEIGHTS), by_row, strict=True)
        for name, rows in zip(names, all_, strict=True)
    }
