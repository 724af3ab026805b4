"""Convolutions of any words and groups, line by line: each tap of a window is one operand for a whole line of outputs.

This is the form for depthwise convolutions, whose outputs have too few terms for a matrix product, and for words of
more than 8 bits. Sums wrap in the word of the result, so only the whole sum has to fit it.
"""

from __future__ import annotations

import functools

import numpy as np

from mfsim.kernels.gemm.operand_transform import MAGNITUDE, SIGN, VALUE, transform_operand
from mfsim.kernels.jit import kernel
from mfsim.kernels.scratch import scratch
from mfsim.kernels.simd.emit import element, piece
from mfsim.kernels.simd.wrapping import add, mul, word_of
from mfsim.kernels.windows import window_of


@kernel
def _spread(x, n, top, left, what, zero, planes):
    """Fill planes [C, H + pads, W + pads] with what is taken of x[n] [C, H, W]; they hold the padding already."""
    _, channels, height, width = x.shape
    _, lines, columns = planes.shape
    for c in range(channels):
        for i in range(height):
            source = piece(x, ((n * channels + c) * height + i) * width, width)
            target = piece(planes, (c * lines + top + i) * columns + left, width)
            transform_operand(source, target, what, zero, 0, 0)


@functools.cache
def _convolving(signed):
    """Return the kernel that fills y [n, O, H', W'] from x [n, C, H, W], with values, or with values and signs.

    An output is `bias[o]` + the sum of `factors[o, k]` times what is taken of x and, where `signed`, of
    `others[o, k]` times the sign of x. `planes` and `signs` are buffers that hold the padding, `sums` one of a line.
    """

    @kernel
    def convolve(x, groups, window, what, zero, factors, others, bias, planes, signs, sums, y):
        taps_y, taps_x, stride_y, stride_x, top, left, step_y, step_x = window
        batch, outputs, height, width = y.shape
        _, lines, columns = planes.shape
        channels, each = x.shape[1] // groups, outputs // groups
        result = y.dtype.type
        for n in range(batch):
            _spread(x, n, top, left, what, zero, planes)
            if signed:
                _spread(x, n, top, left, SIGN, zero, signs)
            for o in range(outputs):
                for i in range(height):
                    for j in range(width):
                        sums[j] = bias[o]
                    k = 0
                    for c in range(channels):
                        line = (o // each * channels + c) * lines + i * stride_y
                        for ky in range(taps_y):
                            for kx in range(taps_x):
                                at = (line + ky * step_y) * columns + kx * step_x
                                span = (width - 1) * stride_x + 1
                                codes, factor = piece(planes, at, span), factors[o, k]
                                if stride_x == 1:
                                    for j in range(width):
                                        sums[j] = add(sums[j], mul(codes[j], factor))
                                else:
                                    for j in range(width):
                                        sums[j] = add(sums[j], mul(element(codes, j * stride_x), factor))
                                if signed:
                                    codes, factor = piece(signs, at, span), others[o, k]
                                    if stride_x == 1:
                                        for j in range(width):
                                            sums[j] = add(sums[j], mul(codes[j], factor))
                                    else:
                                        for j in range(width):
                                            sums[j] = add(sums[j], mul(element(codes, j * stride_x), factor))
                                k += 1
                    target = piece(y, ((n * outputs + o) * height + i) * width, width)
                    for j in range(width):
                        target[j] = result(sums[j])

    return convolve


def _wrapped(numbers, word):
    """Return Python ints in an array of `word`, where they wrap."""
    bits = np.iinfo(word).bits
    flat = [(int(n) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for n in numbers.reshape(-1)]
    return np.array(flat, dtype=word).reshape(numbers.shape)


def prepared(inputs, outputs, attributes, mf):
    """Return a `run` of a dense convolution, or of a multiplication-free one, with constant weights of any words.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W] of a sample; constant w [O, C / groups, rows, columns]; perhaps a constant bias [O].
    outputs : list of Operand
        y [O, H', W'] with its proved range.
    attributes : mapping
        Complete attributes of the convolution; for a multiplication-free one also `form`, `sign_zero`,
        `shift_x`, `shift_w`.
    mf : bool
        Whether the terms are multiplication-free.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    w, y = inputs[1].codes.astype(object), outputs[0]
    flat = w.reshape(len(w), -1)
    bias = inputs[2].codes if len(inputs) > 2 else np.zeros(len(w), np.int64)
    word, groups = word_of(y.low, y.high), attributes["groups"]
    window = window_of(w.shape[2:], attributes)
    top, left, bottom, right = attributes["pads"]
    what, zero, others = VALUE, 0, np.zeros((1, 1), word)
    factors = flat
    if mf:
        # The sign of x goes with w, and x with the sign of w, each on the finer grid of the two.
        zero, magnitudes = attributes["sign_zero"], attributes["form"] == "abs"
        what = MAGNITUDE if magnitudes else VALUE
        shift_x, shift_w = (np.resize(np.array(attributes[name]), (len(w), 1)) for name in ("shift_x", "shift_w"))
        factors = (np.sign(flat) + zero * (flat == 0)) << shift_x
        others = _wrapped((abs(flat) if magnitudes else flat) << shift_w, word)
    factors, bias = _wrapped(factors, word), _wrapped(bias, word)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        shape = (x.shape[1], x.shape[2] + top + bottom, x.shape[3] + left + right)
        planes, signs = (
            scratch.get(name, shape if name == "values" or mf else (1, 1, 1), word) for name in ("values", "signs")
        )
        planes[...], signs[...] = 0, zero
        sums = scratch.get("sums of a line", (y.shape[3],), word)
        _convolving(mf)(x, groups, window, what, zero, factors, others, bias, planes, signs, sums, y)

    return run
