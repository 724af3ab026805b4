"""The stages of a fixed-point transform: a Loop, each turn of which gathers and adds. Definitions: mfsim/derived/dft.py, dct.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.export.integer_bodies.body import CODE, INDEX, Arrays

PLACES = ("kept_places", "met_places", "other_places")
WEIGHTS = ("keeps", "turns", "met_weights", "other_weights")
STAGE_INPUTS = {**dict.fromkeys(PLACES, INDEX), **dict.fromkeys(WEIGHTS, CODE)}
"""Names and kinds of the derived inputs that `STAGES` reads besides `one_t` = 2**T and `one_g` = 2**G."""

STAGES = """
  go64 = Constant<value_int: int = 1>()
  go = Equal(go64, go64)
  fine = Mul(x, one_g)
  half_t = Div(one_t, two)
  stages = Shape<end: int = 1>(kept_places)
  count = Squeeze(stages)
  v = Loop(count, go, fine) <
    body = stage (int64 step, bool go_on, u) => (goes_on, w) {
      goes_on = Identity(go_on)
      kept_place = Gather<axis: int = 0>(kept_places, step)
      met_place = Gather<axis: int = 0>(met_places, step)
      other_place = Gather<axis: int = 0>(other_places, step)
      keep = Gather<axis: int = 0>(keeps, step)
      turn = Gather<axis: int = 0>(turns, step)
      of_met = Gather<axis: int = 0>(met_weights, step)
      of_other = Gather<axis: int = 0>(other_weights, step)
      kept = Gather<axis: int = -1>(u, kept_place)
      met = Gather<axis: int = -1>(u, met_place)
      other = Gather<axis: int = -1>(u, other_place)
      met_part = Mul(met, of_met)
      other_part = Mul(other, of_other)
      product = Add(met_part, other_part)
      raised = Add(product, half_t)
      rest = Mod(raised, one_t)
      whole = Sub(raised, rest)
      turned = Div(whole, one_t)
      first = Mul(kept, keep)
      second = Mul(turned, turn)
      w = Add(first, second)
    }
  >
"""
"""From x to v, the codes behind the last stage; `two` must be there."""


def stage_arrays(places: Sequence[object], weights: Sequence[object]) -> Arrays:
    """Return the derived inputs for places [stages, 3, n] and weights [stages, 4, n]."""
    by_row = (np.array(stated, dtype=np.int64).transpose(1, 0, 2) for stated in (places, weights))
    return {
        name: rows
        for names, all_ in zip((PLACES, WEIGHTS), by_row, strict=True)
        for name, rows in zip(names, all_, strict=True)
    }
