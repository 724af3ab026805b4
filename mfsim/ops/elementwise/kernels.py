"""Plain kernels of the elementwise ops: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, host_mode, less, mul, negate, select, shift_left, sign
from mfsim.kernels.rounding import clamped

# What the kernels of add and sub share: one addition or subtraction for each code.


@kernel
def _plain(a, b, places_a, places_b, mode, y):
    """Fill y with a + mode * b, each shifted left first; b is as long as a, or as one sample of a."""
    for i in range(a.size):
        left = shift_left(a[i], places_a) if places_a > 0 else a[i]
        right = shift_left(b[i % b.size], places_b) if places_b > 0 else b[i % b.size]
        y[i] = addsub(left, right, mode)


def _combine(inputs, attributes, mode, outputs):
    """Run `plain`; a constant b (it has no batch axis) is broadcast and aligned beforehand."""
    a, b = inputs
    places_b = attributes["shift_b"]
    if b.ndim < a.ndim:
        b, places_b = np.broadcast_to(b << places_b, a.shape[1:]), 0
    _plain(
        a.reshape(-1),
        np.ascontiguousarray(b).reshape(-1),
        attributes["shift_a"],
        places_b,
        mode,
        outputs[0].reshape(-1),
    )


# abs: y = |x|. Definition: mfsim/ops/elementwise/abs.py.


@kernel
def _plain_abs(x, y):
    for i in range(x.size):
        y[i] = absolute(x[i])


def run_abs(inputs, attributes, outputs):
    """Fill the output of op `abs`: magnitudes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    _plain_abs(inputs[0].reshape(-1), outputs[0].reshape(-1))


# neg: y = -x. Definition: mfsim/ops/elementwise/neg.py.


@kernel
def _plain_neg(x, y):
    for i in range(x.size):
        y[i] = negate(x[i], -1)


def run_neg(inputs, attributes, outputs):
    """Fill the output of op `neg`: negated codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    _plain_neg(inputs[0].reshape(-1), outputs[0].reshape(-1))


# sign: y = -1, 0 or +1. Definition: mfsim/ops/elementwise/sign.py.


@kernel
def _plain_sign(x, zero, y):
    for i in range(x.size):
        y[i] = sign(x[i], zero)


def run_sign(inputs, attributes, outputs):
    """Fill the output of op `sign`: signs.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `sign_zero`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x, -1, 0 or +1.
    """
    _plain_sign(inputs[0].reshape(-1), attributes["sign_zero"], outputs[0].reshape(-1))


# relu: y = max(x, 0). Definition: mfsim/ops/elementwise/relu.py.


@kernel
def _plain_relu(x, y):
    for i in range(x.size):
        y[i] = select(less(0, x[i]), x[i], 0)


def run_relu(inputs, attributes, outputs):
    """Fill the output of op `relu`: max(x, 0).

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    _plain_relu(inputs[0].reshape(-1), outputs[0].reshape(-1))


# clip: y = min(max(x, lo), hi). Definition: mfsim/ops/elementwise/clip.py.


@kernel
def _plain_clip(x, lo, hi, low, high, y):
    for i in range(x.size):
        y[i] = clamped(x[i], lo, hi, low, high)


def run_clip(inputs, attributes, outputs):
    """Fill the output of op `clip`: clipped codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `lo`, `hi`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    clamp = attributes["clamp"]
    _plain_clip(
        inputs[0].reshape(-1),
        attributes["lo"],
        attributes["hi"],
        clamp in ("low", "both"),
        clamp in ("high", "both"),
        outputs[0].reshape(-1),
    )


# add: y = a + b. Definition: mfsim/ops/elementwise/add.py.


def run_add(inputs, attributes, outputs):
    """Fill the output of op `add`: aligned sums.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: a [batch, ...]; b of the shape of a, or a constant that broadcasts to a sample of a.
    attributes : mapping
        Complete attributes: `shift_a`, `shift_b`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of a.
    """
    _combine(inputs, attributes, 1, outputs)


# sub: y = a - b. Definition: mfsim/ops/elementwise/sub.py.


def run_sub(inputs, attributes, outputs):
    """Fill the output of op `sub`: aligned differences.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: a [batch, ...]; b of the shape of a, or a constant that broadcasts to a sample of a.
    attributes : mapping
        Complete attributes: `shift_a`, `shift_b`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of a.
    """
    _combine(inputs, attributes, -1, outputs)


# mul: element-wise product. Definition: mfsim/ops/elementwise/mul.py.


@kernel
def _plain_mul(x, w, y):
    """Take x and y [N, S]; w [N, S], or [1, S] for a constant."""
    for n in range(y.shape[0]):
        m = n % w.shape[0]
        for i in range(y.shape[1]):
            y[n, i] = mul(x[n, i], w[m, i])


def run_mul(inputs, attributes, outputs):
    """Fill the output of op `mul`: element-wise products.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...]; w of the shape of x, or a constant that broadcasts to a sample of x.
    attributes : mapping
        Complete attributes: `constant`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    (x, w), y = inputs, outputs[0]
    flat = (y.shape[0], int(np.prod(y.shape[1:], dtype=np.int64)))
    if w.ndim == x.ndim:
        spread = w.reshape(flat)
    else:
        spread = np.array(np.broadcast_to(w, x.shape[1:])).reshape(1, flat[1])
    _plain_mul(x.reshape(flat), spread, y.reshape(flat))


# soft_threshold: y = sign(x) * max(|x| - t, 0). Definition: mfsim/ops/elementwise/soft_threshold.py.


@kernel
def _plain_soft_threshold(x, thresholds, inner, y):
    """Shrink x of shape (outer, channels, inner), flat; one threshold, or one for each channel."""
    for i in range(x.size):
        threshold = thresholds[i // inner % thresholds.size]
        magnitude = absolute(x[i])
        difference = addsub(magnitude, threshold, -1)
        kept = select(less(threshold, magnitude), difference, 0)
        y[i] = negate(kept, host_mode(x[i]))


def run_soft_threshold(inputs, attributes, outputs):
    """Fill the output of op `soft_threshold`: soft-thresholded codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...]; constant thresholds, one, or one for each channel, at least 0.
    attributes : mapping
        Complete attributes: `axis`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, thresholds = inputs
    axis = attributes["axis"]
    inner = 1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
    _plain_soft_threshold(x.reshape(-1), thresholds, inner, outputs[0].reshape(-1))
