"""Operand widths that a count states, held against the operands that the plain kernel meets.

What the plain kernel executes does not depend on the codes, so the k-th execution for one sample is the
k-th for every other. Its operands, over some samples, need at least so many bits each. The rows of a count
are right if all executions can be dealt out to them: each to a row of its primitive whose widths hold its
operands, and to each row as many as it counts.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Sequence

from mfsim.ir.formats import Format
from mfsim.ops.op import Row

UNREACHED = 2**63 - 1
"""Fills tables of thresholds up: greater than every word, so a device compares with no word that holds it."""

Needs = collections.Counter  # of (primitive, bits of each operand)


def needed(runs: Sequence[Sequence[tuple[str, list[int]]]]) -> Needs:
    """Return how many executions of one sample need which (primitive, bits of each operand).

    Parameters
    ----------
    runs : `Counter.executions` of each sample.
    """
    needs = collections.Counter()
    for execution in zip(*runs, strict=True):
        (primitive,) = {name for name, _ in execution}
        met = [[v for v in values if v != UNREACHED] or [0] for values in zip(*(v for _, v in execution), strict=True)]
        ends = [(min(values), max(values)) for values in met]
        needs[primitive, tuple(Format.of_range(lo, hi).bits for lo, hi in ends)] += 1
    return needs


def holds(widths: Sequence[int], primitive: str, bits: Sequence[int]) -> bool:
    """Return whether operands of `bits` fit a row; one width is that of all operands, or of what is shifted."""
    if len(widths) == 1:
        bits = bits[:1] if primitive == "shift" else (max(bits),)
    return len(widths) == len(bits) and all(w >= b for w, b in zip(widths, bits, strict=True))


def misfits(needs: Needs, rows: Iterable[tuple[str, tuple[int, ...], int]]) -> Needs:
    """Return the executions that no row is left for, after as many as possible are dealt out.

    Parameters
    ----------
    needs : what `needed` returns.
    rows : (primitive, widths, count) of each row.
    """
    rows = list(rows)
    dealt = [collections.Counter() for _ in rows]
    left = collections.Counter(needs)
    for need in sorted(needs, key=lambda n: (n[0], tuple(-b for b in n[1]))):
        while left[need]:
            moved = _deal(need, rows, dealt, left[need])
            if not moved:
                break
            left[need] -= moved
    return +left


def _deal(need, rows, dealt, most) -> int:
    """Deal up to `most` executions of `need` out along one augmenting path, and return how many."""
    cause = {("need", need): None}
    queue = collections.deque([("need", need)])
    while queue:
        kind, at = queue.popleft()
        if kind == "need":
            steps = [("row", k) for k, (name, widths, _) in enumerate(rows) if name == at[0] and holds(widths, *at)]
        else:
            free = rows[at][2] - sum(dealt[at].values())
            if free > 0:
                return _move(("row", at), cause, dealt, min(most, free))
            steps = [("need", other) for other, n in dealt[at].items() if n > 0]
        for step in steps:
            if step not in cause:
                cause[step] = (kind, at)
                queue.append(step)
    return 0


def _move(end, cause, dealt, most) -> int:
    path = [end]
    while cause[path[-1]] is not None:
        path.append(cause[path[-1]])
    path.reverse()
    for (kind, at), (_, to) in itertools.pairwise(path):
        if kind == "row":
            most = min(most, dealt[at][to])
    for (kind, at), (_, to) in itertools.pairwise(path):
        if kind == "need":
            dealt[to][at] += most
        else:
            dealt[at][to] -= most
    return most


def as_rows(rows: Iterable[Row]) -> list[tuple[str, tuple[int, ...], int]]:
    """Return (primitive, widths, count) of each row that is executed for every sample."""
    return [(row.primitive, row.widths, row.count) for row in rows if not row.offline]
