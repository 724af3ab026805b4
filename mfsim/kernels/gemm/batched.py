"""Products of two activations, matrix by matrix, prepared for words of 8 bits: one kernel packs, multiplies and writes.

Matrices of attention are small: what is done for each of them costs as much as the product. So nothing is done in
Python, and the operands of one matrix and its sums, in buffers of the thread, stay in the cache.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfsim.kernels.gemm.dispatch import multiply
from mfsim.kernels.gemm.operand_transform import interleave, transform_operand
from mfsim.kernels.jit import kernel
from mfsim.kernels.rows.epilogue import AS_THEY_ARE, PLAIN, apply_one, one_rule
from mfsim.kernels.scratch import round_up, scratch
from mfsim.kernels.simd.emit import address, inner, piece
from mfsim.kernels.simd.wrapping import add, alike


class BatchedShape(NamedTuple):
    """The parts of one or two products and what they are made of.

    `parts` [parts, 8]: product, place in its depth, what is taken of x, of w, sign of 0, shifts of both, flip;
    `joins` [products]: shifts of the sums; `tables` [products, steps]: where each step finds its operands in a row.
    """

    parts: np.ndarray
    joins: np.ndarray
    tables: np.ndarray


class Space(NamedTuple):
    """Buffers, of `[products, ...]`: left rows, panels, starts and sums; and `lines` [group, width] before they interleave."""

    rows: np.ndarray
    panels: np.ndarray
    start: np.ndarray
    sums: np.ndarray
    lines: np.ndarray


@kernel
def _numbers(parts, part):
    """Return parts[part] as a tuple."""
    return (
        parts[part, 0], parts[part, 1], parts[part, 2], parts[part, 3],
        parts[part, 4], parts[part, 5], parts[part, 6], parts[part, 7],
    )  # fmt: skip


@kernel
def _right(w, g, plan, space):
    """Fill the panels and the starts with what the parts take of w[g] [k, columns]; the rest of the panels stays zero."""
    _, length, columns = w.shape
    lines, panels, start = space.lines, space.panels, space.start
    group, width = lines.shape
    line_size = 16 * group
    panel_size = panels.shape[2] * line_size
    start[:] = 0
    for part in range(plan.parts.shape[0]):
        product, at, _, what, zero, _, places, flip = _numbers(plan.parts, part)
        for k in range(0, length, group):
            for j in range(group):
                line = piece(lines, j * width, columns)
                if k + j < length:
                    transform_operand(piece(w, (g * length + k + j) * columns, columns), line, what, zero, places, 0)
                    if flip != 0:
                        for n in range(columns):
                            start[product, n] += flip * line[n]
                else:
                    line[:] = 0
            target = product * (width // 16) * panel_size + (at + k) // group * line_size
            for p in range(width // 16):
                if group == 4:
                    interleave(lines, 16 * p, width, panels, target, 16, 4)
                elif group == 2:
                    interleave(lines, 16 * p, width, panels, target, 16, 2)
                else:
                    interleave(lines, 16 * p, width, panels, target, 16, 1)
                target += panel_size


@kernel
def _left(x, g, first, plan, space):
    """Fill the rows with what the parts take of x[g] [m, k] from row `first` on."""
    _, rows, length = x.shape
    _, size, depth = space.rows.shape
    for part in range(plan.parts.shape[0]):
        product, at, what, _, zero, places, _, flip = _numbers(plan.parts, part)
        target = product * size * depth + at
        for i in range(first, min(first + size, rows)):
            transform_operand(
                piece(x, (g * rows + i) * length, length), piece(space.rows, target, length), what, zero, places, flip
            )
            target += depth


@kernel
def write(space, joins, after, y, g, first):
    """Fill y[g] [m, columns] from row `first` on with the sums of one product, or with those of two, shifted and added.

    Return how many codes did not fit.

    Parameters
    ----------
    space : Space
        Buffers; `sums` int32 [products, size, width] is read.
    joins : int64 array, shape (products,)
        Left shifts of the sums of two products, in bits.
    after : OneRule
        How the sums of one product are fitted.
    y : integer array, shape (groups, m, columns)
        Written.
    g, first : int
        Matrix, and first row that `space.sums` stands for.

    Returns
    -------
    int
        Overflows.
    """
    _, rows, columns = y.shape
    sums, rules = space.sums, after.rules
    products, size, width = sums.shape
    left, places, added, odd, below, floor = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
    events = 0
    for i in range(min(size, rows - first)):
        found = piece(sums, i * width, columns)
        target = piece(y, (g * rows + first + i) * columns, columns)
        if products == 2:
            second = piece(sums, (size + i) * width, columns)
            for n in range(columns):
                target[n] = (np.int64(found[n]) << joins[0]) + (np.int64(second[n]) << joins[1])
        elif after.how == AS_THEY_ARE:
            for n in range(columns):
                target[n] = found[n]
        elif after.how == PLAIN:
            overflows = alike(left, 0)
            for n in range(columns):
                code, fitted = apply_one(
                    True, alike(left, found[n]), left, places, added, odd, below, floor, after.lo, after.hi, 0
                )
                overflows = add(overflows, alike(left, code != fitted))
                target[n] = fitted
            events += overflows
        else:
            for n in range(columns):
                code, fitted = apply_one(
                    False, alike(left, found[n]), left, places, added, odd, below, floor, after.lo, after.hi, after.kept
                )
                events += code != fitted
                target[n] = fitted
    return events


@kernel
def _multiply_all(x, w, plan, levels, after, space, y):
    """Fill y [groups, m, n] with x [groups, m, k] times w [groups, k, n]; return how many codes did not fit."""
    events = 0
    _, size, depth = space.rows.shape
    stride = depth * space.rows.itemsize
    for g in range(y.shape[0]):
        _right(w, g, plan, space)
        for first in range(0, y.shape[1], size):
            _left(x, g, first, plan, space)
            count = min(size, y.shape[1] - first)
            for p in range(plan.joins.size):
                a, table = address(space.rows) + p * size * stride, inner(plan.tables, p)
                panels, start, c = inner(space.panels, p), inner(space.start, p), inner(space.sums, p)
                multiply(levels[p], a, stride, table, panels, start, c, count)
            events += write(space, plan.joins, after, y, g, first)
    return events


def prepared(x, w, sums_of, fit):
    """Return a `run` for activations x [..., m, k] and w [..., k, n], or None if some word is too wide.

    `sums_of` is that of `mfsim.kernels.gemm.matmul.prepared`; `fit` is the `Epilogue` of the sums of one product, or None.

    Parameters
    ----------
    x, w : Operand
        Activations of one sample, with their proved ranges.
    sums_of : callable
        (w, bias, probe, run) to a list of one or two `Sums`, or None.
    fit : Epilogue or None
        What is done to the sums before they are written; one rule only.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs).
    """
    (length, columns), rows = w.shape[-2:], x.shape[-2]
    probe = np.repeat(np.array([[w.low], [w.high]]), columns, axis=1)
    sums = sums_of(np.zeros((length, columns), np.int64), np.zeros(columns, np.int64), probe, None)
    if sums is None or (fit and (len(sums) > 1 or fit.rules.shape[1] > 1)):
        return None
    after = one_rule(fit, fit.word if fit else np.int32)
    products = [each.product for each in sums]
    layout, depth, width = products[0].layout, products[0].depth, products[0].width
    size = min(round_up(rows, layout.rows), round_up(products[0].chunk, layout.rows))
    parts = [
        (number, at, part.left, part.right, part.zero, part.places, int(shift[0]), flip)
        for number, product in enumerate(products)
        for part, at, shift, flip in zip(product.parts, product.places, product.shifts, product.flips, strict=True)
    ]
    plan = BatchedShape(
        np.array(parts, np.int64),
        np.array([each.shifts[0] for each in sums]),
        np.array([np.arange(0, depth, layout.step) * np.dtype(layout.word).itemsize for _ in products], np.int64),
    )
    levels = tuple(product.steps for product in products)
    shapes = {
        "rows": (len(products), size, depth),
        "panels": (len(products), width // 16, depth // layout.group, 16, layout.group),
        "lines": (layout.group, width),
    }

    def run(inputs, attributes, outputs):
        x, w, y = inputs[0], inputs[1], outputs[0]
        groups = math.prod(y.shape[:-2])
        space = Space(
            scratch.get("rows", shapes["rows"], layout.word),
            scratch.get("panels", shapes["panels"], layout.word),
            scratch.get("start", (len(products), width), np.int32),
            scratch.get("sums", (len(products), size, width), np.int32),
            scratch.get("lines", shapes["lines"], layout.word),
        )
        space.panels[...] = 0
        events = _multiply_all(
            x.reshape(groups, rows, length), w.reshape(groups, length, columns), plan, levels, after, space,
            y.reshape(groups, rows, columns),
        )  # fmt: skip
        return events if fit and fit.events else None

    return run
