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

import math
import threading
from typing import NamedTuple

import numpy as np

from mfsim.kernels import host, int8_amx, int8_avx2, int8_portable, int8_vnni
from mfsim.kernels.emit import piece
from mfsim.kernels.int8_take import MAGNITUDE, SIGN, VALUE, take
from mfsim.kernels.jit import kernel

KINDS = ("ss", "us", "su")
"""Signed or unsigned left and right operands of a part, in the order in which parts lie."""


class Part(NamedTuple):
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
    "amx": Layout(np.int8, 4, 64, 32, 32),
    "vnni": Layout(np.int8, 4, 4, 6, 64),
    "avx2": Layout(np.int16, 2, 2, 6, 16),
    "portable": Layout(np.int16, 1, 1, 4, 16),
}


CACHE = 1 << 20
"""Bytes of rows and sums that are worked on at a time."""


def up(size, multiple):
    """Return the least multiple of `multiple` that is at least `size`."""
    return -(-size // multiple) * multiple


def aligned(shape, dtype):
    """Return an array that begins at a multiple of 64 bytes, so that no vector or row of a tile is split."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size].view(dtype).reshape(shape)


class _Scratch(threading.local):
    """Buffers of one thread, by name: what is large is not allocated for every call."""

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}

    def get(self, name, shape, dtype):
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = aligned((size,), np.uint8)
        return self.buffers[name][:size].view(dtype).reshape(shape)


scratch = _Scratch()


@kernel
def fill(x, a, at, left, zero, places, flip):
    """Fill the columns of `a` from `at` with what a part takes of x [rows, k], in C order."""
    for i in range(x.shape[0]):
        source, target = piece(x, i * x.shape[1], x.shape[1]), piece(a, i * a.shape[1] + at, x.shape[1])
        take(source, target, left, zero, places, flip)


@kernel
def pack(w, panels, at, right, zero, shift, flip, start):
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

    Attributes
    ----------
    columns : number of outputs n.
    width : columns of the padded int32 matrix that `rows` fills.
    depth : length of a padded row of left operands.
    chunk : how many rows to work on at a time, so that they and their sums stay in the cache.
    """

    def __init__(self, parts, w, start=None) -> None:
        self.level = host.best(tuple(LAYOUTS))
        self.layout = layout = LAYOUTS[self.level]
        self.parts = sorted(parts, key=lambda part: KINDS.index(part.kind))
        length, self.columns = w.shape
        self.width = up(self.columns, layout.columns)
        self.places: list[int] = []
        self.depth, steps = 0, []
        for kind in KINDS:
            count, span = sum(part.kind == kind for part in parts), up(length, layout.group)
            self.places += [self.depth + span * number for number in range(count)]
            steps.append(up(span * count, layout.step) // layout.step)
            self.depth += steps[-1] * layout.step
        self.steps = (steps[0] + steps[1], steps[2]) if self.level == "vnni" else steps
        self.flips = [-128 if self.level == "vnni" and part.kind == "ss" else 0 for part in self.parts]
        self.shifts = [np.resize(np.array(part.shift, np.int64), self.columns) for part in self.parts]
        each = self.width * 4 + self.depth * np.dtype(layout.word).itemsize
        self.chunk = max(96, CACHE // each // 96 * 96)
        self.panels = aligned((self.width // 16, self.depth // layout.group, 16, layout.group), layout.word)
        self.panels[...] = 0
        self.start = aligned((self.width,), np.int32)
        self.start[...] = 0
        if start is not None:
            self.start[: self.columns] = start
        codes = np.ascontiguousarray(w, dtype=np.int64)
        for part, at, shift, flip in zip(self.parts, self.places, self.shifts, self.flips, strict=True):
            pack(codes, self.panels, at, part.right, part.zero, shift, flip, self.start)

    def fill(self, x, a):
        """Fill the rows `a` [at least m, depth] with what the parts take of x [m, k], in C order."""
        for part, at, flip in zip(self.parts, self.places, self.flips, strict=True):
            fill(x, a, at, part.left, part.zero, part.places, flip)

    def rows(self, a, c):
        """Fill c int32 [rows, width] from filled rows; the number of rows is a multiple of `layout.rows`."""
        if self.level == "amx":
            int8_amx.rows(a, self.panels, self.start, int8_amx.SHAPES, *self.steps, c)
        elif self.level == "vnni":
            int8_vnni.rows(a, self.panels, self.start, *self.steps, c)
        elif self.level == "avx2":
            int8_avx2.rows(a, self.panels, self.start, c)
        else:
            int8_portable.rows(a, self.panels, self.start, c)

    def __call__(self, x, out=None):
        """Return the int32 matrix [m, columns] of x [m, k]; `out` [m, columns] is filled where it needs no padding."""
        rows = up(len(x), self.layout.rows)
        if out is None or out.shape != (rows, self.width):
            out = aligned((rows, self.width), np.int32)
        if self._as_rows(x, rows):
            self.rows(x, out)
            return out[:, : self.columns]
        chunk = self.chunk
        a = scratch.get("rows", (min(chunk, rows), self.depth), self.layout.word)
        for first in range(0, rows, chunk):
            last = min(first + chunk, rows)
            self.fill(np.ascontiguousarray(x[first:last]), a)
            self.rows(a[: last - first], out[first:last])
        return out[: len(x), : self.columns]

    def _as_rows(self, x, rows):
        """Return whether x can be read as it lies: the only part takes signed bytes and needs no padding."""
        (part, *others), (flip, *_) = self.parts, self.flips
        return (
            x.dtype == self.layout.word == np.int8
            and x.flags.c_contiguous
            and x.shape == (rows, self.depth)
            and not others
            and (part.kind, part.left, part.places, flip) == ("ss", VALUE, 0, 0)
        )
