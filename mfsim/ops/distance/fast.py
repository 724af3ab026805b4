"""Fast kernels of the distance products (AdderNet, min-type): packed vectors of differences in 16 or 32 bits."""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.gemm import implicit, matmul, product
from mfsim.kernels.gemm.decomposition import Sums
from mfsim.kernels.gemm.dispatch import Terms
from mfsim.kernels.gemm.distance_block import BYTES, ROWS, fill_sums
from mfsim.kernels.gemm.operand_transform import VALUE, transform_operand
from mfsim.kernels.gemm.product import Int8Product, Layout, OperandTransform
from mfsim.kernels.jit import kernel
from mfsim.kernels.scratch import aligned, round_up, scratch
from mfsim.kernels.simd.emit import address, piece

# Sums of -|x - w| and of sign(x w) min(|x|, |w|) as products: their words, packed weights, and the ops that have them.
#
# A `TermProduct` stands where an `Int8Product` does, so that rows, windows and the fitting of sums are the same.

LEAST_TERMS = 8
"""Where fewer terms than this can be added in 16 bits, they are added in 32 bits."""


@kernel
def _pack(w, first, columns, places, panels):
    """Fill panels [columns / lanes, k, lanes] with w [k, columns] from flat place `first` of w, shifted left."""
    count, depth, lanes = panels.shape
    for p in range(count):
        length = min(lanes, columns - p * lanes)
        for k in range(depth):
            source = piece(w, first + k * columns + p * lanes, length)
            transform_operand(source, piece(panels, (p * depth + k) * lanes, length), VALUE, 0, places, 0)


@kernel
def _batched(x, w, shifts, size, minimum, a, panels, start, c, y):
    """Fill y [groups, m, n] from x [groups, m, k] and w [groups, k, n], some rows at a time."""
    groups, rows, columns = y.shape
    depth, height, width = x.shape[2], c.shape[0], c.shape[1]
    for g in range(groups):
        _pack(w, g * depth * columns, columns, shifts[1], panels)
        for i in range(0, rows, height):
            count = min(height, rows - i)
            for row in range(count):
                source = piece(x, ((g * rows + i) + row) * depth, depth)
                transform_operand(source, piece(a, row * depth, depth), VALUE, 0, shifts[0], 0)
            fill_sums(address(a), depth * a.itemsize, panels, start, size, minimum, columns, c, count)
            for row in range(count):
                source, target = piece(c, row * width, columns), piece(y, ((g * rows + i) + row) * columns, columns)
                for n in range(columns):
                    target[n] = source[n]


class TermProduct(Int8Product):
    """The sums of one of the terms with its weights packed; the same on every level.

    The operands of a row lie together.

    Parameters
    ----------
    minimum : int
        The term: 0 for -|x - w|, 1 for sign(x w) min(|x|, |w|).
    word : numpy.int16 or numpy.int32
        The word of the terms.
    size : int
        How many terms are added in it, 1..k.
    places : int
        Left shift of the left operands, at least 0.
    w : int64 array [k, n]
        Aligned weights.
    start : int64 array [n]
        Added to the sums.
    """

    def __init__(self, minimum, word, size, places, w, start) -> None:
        lanes = BYTES // np.dtype(word).itemsize
        self.layout = Layout(word, 1, 1, ROWS, lanes)
        self.parts, self.flips = [OperandTransform("ss", places=places)], [0]
        self.depth, self.columns = w.shape
        self.run, self.width = self.depth, round_up(self.columns, lanes)
        self.steps = Terms(minimum, size, self.columns)
        self.panels = aligned((self.width // lanes, self.depth, lanes), word)
        self.panels[...] = 0
        _pack(np.ascontiguousarray(w), 0, self.columns, 0, self.panels)
        self.start = aligned((self.width,), np.int32)
        self.start[...] = 0
        self.start[: self.columns] = start << minimum


def words(minimum, x, w, length, start):
    """Return the word of the terms, and how many are added in it.

    Parameters
    ----------
    minimum : int, 0 or 1, the term
    x, w : (low, high), ranges of the aligned operands, 0 among them
    length : int, terms of a sum, at least 1
    start : int, the greatest magnitude of a bias

    Returns
    -------
    tuple of numpy.int16 or numpy.int32 and an int, or None
        None if 32 bits do not hold the sums.
    """
    ends = max(-x[0], x[1]), max(-w[0], w[1])
    largest = max(x[1] - w[0], w[1] - x[0], *([x[1] + w[1], -x[0] - w[0]] if minimum else []))
    each = 2 * min(ends) if minimum else largest
    if length * each + largest + 2 * start > 2**31 - 1:
        return None
    size = (2**15 - 1 - max(largest, *ends)) // max(each, 1)
    return (np.int16, min(size, length)) if size >= min(LEAST_TERMS, length) else (np.int32, length)


def _term_sums(minimum, x, w, bias, attributes):
    """Return the `Sums` of a term for x, a range (low, high), and w [k, n], or None if words are too wide."""
    codes = w << attributes["shift_w"]
    found = words(minimum, _shifted(x, attributes["shift_x"]), _extent(codes), len(w), int(np.abs(bias).max(initial=0)))
    if found is None:
        return None
    word, size = found
    product = TermProduct(minimum, word, size, attributes["shift_x"], codes, bias)
    return [Sums(product, np.zeros(w.shape[1], np.int64))]


def _shifted(ends, places):
    """Return the range (low, high) shifted left, and with 0 in it."""
    return min(ends[0] << places, 0), max(ends[1] << places, 0)


def _extent(codes):
    """Return the range (low, high) of codes, and 0 in it."""
    return min(int(codes.min()), 0), max(int(codes.max()), 0)


def _prepared_matmul(minimum, inputs, outputs, attributes, after):
    """Return a `run` of a matrix product of the term, or None if some word is too wide."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    if inputs[1].codes is None:
        return None if after else _prepared_batched(minimum, inputs, attributes)
    return matmul.prepared(inputs, y, lambda w, bias, probe, run: _term_sums(minimum, x, w, bias, attributes), after)


def _prepared_conv2d(minimum, inputs, outputs, attributes, after):
    """Return a `run` of a convolution with the term, or None if some word is too wide or groups are small."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    return implicit.prepared(
        inputs,
        y,
        attributes,
        lambda w, bias, part, run: _term_sums(minimum, x, w, bias, attributes),
        after,
        direct=False,
    )


def _prepared_batched(minimum, inputs, attributes):
    """Return a `run` of a product of two activations, or None if some word is too wide."""
    x, w = inputs
    (depth, columns), rows = w.shape[-2:], x.shape[-2]
    shifts = attributes["shift_x"], attributes["shift_w"]
    ends = [_shifted((each.low, each.high), places) for each, places in zip((x, w), shifts, strict=True)]
    found = words(minimum, ends[0], ends[1], depth, 0)
    if found is None:
        return None
    word, size = found
    lanes = BYTES // np.dtype(word).itemsize
    width = round_up(columns, lanes)
    height = min(round_up(rows, ROWS), round_up(max(1, product.CACHE // (width * 4)), ROWS))
    start = np.zeros(width, np.int32)

    def run(inputs, attributes, outputs):
        x, w, y = inputs[0], inputs[1], outputs[0]
        groups = math.prod(y.shape[:-2])
        _batched(
            x.reshape(groups, rows, depth), w.reshape(groups, depth, columns), shifts, size, minimum,
            scratch.get("rows", (height, depth), word),
            scratch.get("panels", (width // lanes, depth, lanes), word),
            start, scratch.get("sums", (height, width), np.int32), y.reshape(groups, rows, columns),
        )  # fmt: skip

    return run


# adder_matmul, fast kernel: sums of distances in 16 bits where they fit, whole vectors of outputs at a time.

ADDER_MATMUL_ISAS = ("portable",)


def prepare_adder_matmul(inputs, outputs, attributes, after=None):
    """Prepare an AdderNet matrix product, whole vectors of outputs at a time.

    Parameters
    ----------
    inputs : sequence of `Operand`
        x [..., K]; constant w [K, O] and perhaps a constant bias [O], or a second activation w [..., K, O].
    outputs : sequence of one `Operand`, y
    attributes : mapping, complete attributes of the op
    after : `Epilogue` or None
        What is done to the sums, by one rule or one for each output.

    Returns
    -------
    callable or None
        `run(inputs, attributes, outputs)`; None if the sums are wider than 32 bits, or `after` is given for two
        activations.
    """
    return _prepared_matmul(0, inputs, outputs, attributes, after)


# adder_conv2d, fast kernel: sums of distances in 16 bits where they fit, whole vectors of outputs at a time.

ADDER_CONV2D_ISAS = ("portable",)


def prepare_adder_conv2d(inputs, outputs, attributes, after=None):
    """Prepare an AdderNet convolution on windows gathered by im2col.

    Parameters
    ----------
    inputs : sequence of `Operand`
        x [C, H, W], constant w [O, C / groups, rows, columns], perhaps a constant bias [O].
    outputs : sequence of one `Operand`, y
    attributes : mapping, complete attributes of the op
    after : `Epilogue` or None
        What is done to the sums, by one rule or one for each output.

    Returns
    -------
    callable or None
        `run(inputs, attributes, outputs)`; None if the sums are wider than 32 bits or groups have few outputs.
    """
    return _prepared_conv2d(0, inputs, outputs, attributes, after)


# min_matmul, fast kernel: sums of signed minima of magnitudes in 16 bits where they fit, whole vectors of outputs at a time.

MIN_MATMUL_ISAS = ("portable",)


def prepare_min_matmul(inputs, outputs, attributes, after=None):
    """Prepare a min-type matrix product, whole vectors of outputs at a time.

    Parameters
    ----------
    inputs : sequence of `Operand`
        x [..., K]; constant w [K, O] and perhaps a constant bias [O], or a second activation w [..., K, O].
    outputs : sequence of one `Operand`, y
    attributes : mapping, complete attributes of the op
    after : `Epilogue` or None
        What is done to the sums, by one rule or one for each output.

    Returns
    -------
    callable or None
        `run(inputs, attributes, outputs)`; None if the sums are wider than 32 bits, or `after` is given for two
        activations.
    """
    return _prepared_matmul(1, inputs, outputs, attributes, after)


# min_conv2d, fast kernel: sums of signed minima of magnitudes in 16 bits where they fit, whole vectors of outputs at a time.

MIN_CONV2D_ISAS = ("portable",)


def prepare_min_conv2d(inputs, outputs, attributes, after=None):
    """Prepare a min-type convolution on windows gathered by im2col.

    Parameters
    ----------
    inputs : sequence of `Operand`
        x [C, H, W], constant w [O, C / groups, rows, columns], perhaps a constant bias [O].
    outputs : sequence of one `Operand`, y
    attributes : mapping, complete attributes of the op
    after : `Epilogue` or None
        What is done to the sums, by one rule or one for each output.

    Returns
    -------
    callable or None
        `run(inputs, attributes, outputs)`; None if the sums are wider than 32 bits or groups have few outputs.
    """
    return _prepared_conv2d(1, inputs, outputs, attributes, after)
