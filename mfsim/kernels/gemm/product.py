"""Exact int32 products of 8-bit matrices, dense and multiplication-free, on the best instructions of the host.

A product is a sum of *parts*, each sum_k left(x[m, k]) * right(w[k, n]) with 8-bit operands: a dense product has the
part (x, w); a multiplication-free one the parts (sign(x), w or |w|) and (x or |x|, sign(w)), which are one dot
product of twice the length. What the parts multiply is the host's work only: no count and no reference sees it.

Layout, from the level (`LAYOUTS`): `group` neighbouring k share a lane of 32 bits; the right operands lie
in panels [column / 16, k / group, 16, group], packed once, the left ones in rows. Each part begins at a multiple of
`group`, each kind of parts at one of `step`, and gaps are zeros on the right. Sums wrap at 32 bits, so only the
whole sum has to fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfsim.kernels import cpu
from mfsim.kernels.gemm.dispatch import Amx, Avx2, Portable, Vnni
from mfsim.kernels.gemm.operand_transform import MAGNITUDE, SIGN, VALUE
from mfsim.kernels.jit import kernel
from mfsim.kernels.scratch import aligned, round_up

KINDS = ("ss", "us", "su")
"""Signed or unsigned left and right operands of a part, in the order in which parts lie."""


class OperandTransform(NamedTuple):
    """sum_k left(x[m, k]) 2**places * right(w[k, n]) 2**shift; `zero` is the sign of 0, `shift` one or one for each n."""

    kind: str
    left: int = VALUE
    right: int = VALUE
    zero: int = 0
    places: int = 0
    shift: int | np.ndarray = 0


class Layout(NamedTuple):
    """`word`: type of an operand; the rest in k (group, step), rows and columns of c."""

    word: type
    group: int
    step: int
    rows: int
    columns: int


LAYOUTS = {
    "amx": Layout(np.int8, 4, 64, 32, 16),
    "vnni": Layout(np.int8, 4, 4, 6, 16),
    "avx2": Layout(np.int16, 2, 2, 6, 16),
    "portable": Layout(np.int16, 1, 1, 4, 16),
}

STEPS = {
    "amx": Amx,
    "vnni": lambda ss, us, su: Vnni(ss + us, su),
    "avx2": lambda *steps: Avx2(sum(steps)),
    "portable": lambda *steps: Portable(sum(steps)),
}
"""By level, its steps from those of each kind."""

CACHE = 1 << 20
"""Bytes of rows and sums that are worked on at a time."""


@kernel
def _pack(w, panels, at, right, zero, shift, flip, start):
    """Fill `panels` from depth `at` with what a part takes of w [k, columns], and add flip * sum_k of it to `start`."""
    group = panels.shape[3]
    for k in range(w.shape[0]):
        line, place = (at + k) // group, (at + k) % group
        for n in range(w.shape[1]):
            code = w[k, n]
            if right == SIGN:
                code = (code > 0) - (code < 0) + zero * (code == 0)
            elif right == MAGNITUDE:
                code = abs(code)
            code <<= shift[n]
            panels[n >> 4, line, n & 15, place] = code
            start[n] += flip * code


class Int8Product:
    """A product of parts with its right operands packed, for the level that `MFSIM_CPU` allows.

    Parameters
    ----------
    parts : sequence of `Part`
    w : int64 codes [length, columns]
    start : int64 [columns], added to the sums; 0 by default
    run : how many operands of a row lie together, a divisor of `length`: each run of each part begins a step of its own.
        By default the parts of a row are packed one behind the other.

    Attributes
    ----------
    columns : number of outputs n.
    width : columns of the padded int32 matrix that the product fills.
    depth : length of a padded row of left operands.
    steps : those of the product, of a type that names its level.
    chunk : how many rows to work on at a time, so that they and their sums stay in the cache.
    """

    def __init__(self, parts, w, start=None, run=None) -> None:
        self.level = cpu.best(tuple(LAYOUTS))
        self.layout = layout = LAYOUTS[self.level]
        self.parts = sorted(parts, key=lambda part: KINDS.index(part.kind))
        length, self.columns = w.shape
        self.width, self.run = round_up(self.columns, layout.columns), run
        self.places: list[int] = []
        self.depth, steps = 0, []
        each = round_up(run, layout.step) if run else round_up(length, layout.group)
        span = length // run * each if run else each
        for kind in KINDS:
            count = sum(part.kind == kind for part in parts)
            self.places += [self.depth + span * number for number in range(count)]
            steps.append(round_up(span * count, layout.step) // layout.step)
            self.depth += steps[-1] * layout.step
        self.steps = STEPS[self.level](*steps)
        self.flips = [-128 if self.level == "vnni" and part.kind == "ss" else 0 for part in self.parts]
        self.shifts = [np.resize(np.array(part.shift, np.int64), self.columns) for part in self.parts]
        row = self.width * 4 + self.depth * np.dtype(layout.word).itemsize
        self.chunk = max(96, CACHE // row // 96 * 96)
        self.panels = aligned((self.width // 16, self.depth // layout.group, 16, layout.group), layout.word)
        self.panels[...] = 0
        self.start = aligned((self.width,), np.int32)
        self.start[...] = 0
        if start is not None:
            self.start[: self.columns] = start
        codes = np.ascontiguousarray(w, dtype=np.int64)
        for part, place, shift, flip in zip(self.parts, self.places, self.shifts, self.flips, strict=True):
            for number in range(length // run if run else 1):
                piece = codes[number * run : (number + 1) * run] if run else codes
                _pack(piece, self.panels, place + number * each, part.right, part.zero, shift, flip, self.start)

    def takes(self):
        """Return what each part takes of the left operands: (what, sign of 0, shift, flip)."""
        return [(part.left, part.zero, part.places, flip) for part, flip in zip(self.parts, self.flips, strict=True)]

    def inside(self):
        """Return int64 [steps of a run], where in a run each step finds its operands."""
        size = self.layout.step * np.dtype(self.layout.word).itemsize
        return np.arange(round_up(self.run, self.layout.step) // self.layout.step) * size
