"""Fast kernels of the elementwise ops."""

from __future__ import annotations

import functools
import math

import numpy as np

from mfsim.kernels.gemm.operand_transform import MAGNITUDE, SIGN, transform_operand
from mfsim.kernels.jit import kernel
from mfsim.kernels.rows.epilogue import AS_THEY_ARE, NOTHING, PLAIN, apply_one, fitted, fitting, one_rule
from mfsim.kernels.rows.packed import multiply_rows
from mfsim.kernels.simd.wrapping import WORDS, add, maximum, minimum, shl, sub, word_of

# The fast kernels of add and sub: many sums at a time, in the narrowest word that holds them, and perhaps fitted.


@functools.cache
def _summing(word, mode, how):
    """Return the kernel that fills y with a * 2**places_a + mode * b * 2**places_b, row by row; b may have fewer rows.

    Sums are fitted as `after` says, whose `how` is given; it returns the overflows.
    """
    fits, plain = how != AS_THEY_ARE, how == PLAIN

    @kernel
    def sum_rows(a, b, places_a, places_b, after, y):
        left, right, lo, hi, kept = word(places_a), word(places_b), after.lo, after.hi, after.kept
        rules, events = after.rules, 0
        shift, places, added, odd, below, floor = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
        for r in range(a.shape[0]):
            one, other, out, found = a[r], b[r % b.shape[0]], y[r], word(0)
            for i in range(out.size):
                aligned, second = shl(word(one[i]), left), shl(word(other[i]), right)
                total = add(aligned, second) if mode > 0 else sub(aligned, second)
                if fits:
                    code, total = apply_one(plain, total, shift, places, added, odd, below, floor, lo, hi, kept)
                    found = add(found, word(code != total))
                out[i] = total
            events += found
        return events

    return sum_rows


def _prepared_sum(inputs, outputs, attributes, mode, after):
    """Return a `run` for these operands, fitted as `after` says if it is a `Epilogue`, or None if no word or rule will do."""
    a, b = inputs
    places = [attributes["shift_a"], attributes["shift_b"]]
    numbers = [
        end << shift for operand, shift in zip(inputs, places, strict=True) for end in (operand.low, operand.high)
    ]
    word = word_of(*numbers, outputs[0].low, outputs[0].high)
    if word is None or (after and after.rules.shape[1] > 1):
        return None
    word = max(word, after.word, key=WORDS.index) if after else word
    constant = None
    if b.codes is not None:
        aligned = np.broadcast_to(b.codes << places[1], a.shape).astype(word)
        constant, places[1] = np.ascontiguousarray(aligned).reshape(1, -1), 0
    rule = one_rule(after, word)
    sum_rows = _summing(word, mode, rule.how)

    def run(inputs, attributes, outputs):
        a, y = inputs[0], outputs[0]
        shape = (len(a), y.size // max(len(a), 1))
        b = inputs[1].reshape(shape) if constant is None else constant
        events = sum_rows(a.reshape(shape), b, *places, rule, y.reshape(shape))
        return events if after and after.events else None

    return run


# abs, fast kernel: in the word of the result, whole vectors at a time.

ABS_ISAS = ("portable",)


def prepare_abs(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand; x [...]; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; not used: the op has none

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return run_abs


def run_abs(inputs, attributes, outputs):
    """Fill the output of op `abs`: magnitudes.

    Parameters
    ----------
    inputs : list of arrays of any integer types; C-contiguous codes: x [batch, ...]
    attributes : mapping; not used: the op has none
    outputs : list of one array of any integer type; preallocated and filled completely: y of the shape of x
    """
    transform_operand(inputs[0].reshape(-1), outputs[0].reshape(-1), MAGNITUDE, 0, 0, 0)


# neg, fast kernel: in the word of the result, whole vectors at a time.

NEG_ISAS = ("portable",)


@kernel
def _negated(x, y):
    """Fill flat y with -x."""
    word = y.dtype.type
    for i in range(x.size):
        y[i] = sub(word(0), word(x[i]))


def prepare_neg(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand; x [...]; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; not used: the op has none

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return run_neg


def run_neg(inputs, attributes, outputs):
    """Fill the output of op `neg`: negated codes.

    Parameters
    ----------
    inputs : list of arrays of any integer types; C-contiguous codes: x [batch, ...]
    attributes : mapping; not used: the op has none
    outputs : list of one array of any integer type; preallocated and filled completely: y of the shape of x
    """
    _negated(inputs[0].reshape(-1), outputs[0].reshape(-1))


# sign, fast kernel: in the word of the result, whole vectors at a time.

SIGN_ISAS = ("portable",)


def prepare_sign(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand; x [...]; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, -1, 0 or +1, with its proved range
    attributes : mapping; complete attributes: `sign_zero`

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return run_sign


def run_sign(inputs, attributes, outputs):
    """Fill the output of op `sign`: signs.

    Parameters
    ----------
    inputs : list of arrays of any integer types; C-contiguous codes: x [batch, ...]
    attributes : mapping; complete attributes: `sign_zero`
    outputs : list of one array of any integer type
        Preallocated and filled completely: y of the shape of x, -1, 0 or +1.
    """
    transform_operand(inputs[0].reshape(-1), outputs[0].reshape(-1), SIGN, attributes["sign_zero"], 0, 0)


# relu, fast kernel.

RELU_ISAS = ("portable",)


def prepare_relu(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands; with `after`, the `Epilogue` of its result, None if no word or rule will do.

    Parameters
    ----------
    inputs : list of Operand; x [...]; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; not used: the op has none
    after : Epilogue, optional; what is done to the results before they are written; by default nothing

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    x = inputs[0]
    if after is None:
        return fitting(fitted(x.low, x.high, [NOTHING], (0, max(x.high, 0))), 1)
    word = word_of(x.low, x.high)
    if word is None or after.rules.shape[1] > 1:
        return None
    word = max(word, after.word, key=WORDS.index)
    rules = after.rules.astype(word)
    rules[-1] = np.maximum(rules[-1], 0)
    return fitting(after._replace(word=word, rules=rules), 1)


# clip, fast kernel.

CLIP_ISAS = ("portable",)


def prepare_clip(inputs, outputs, attributes):
    """Return a `run` for these operands.

    Parameters
    ----------
    inputs : list of Operand; x [...]; shapes are those of one sample
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `lo`, `hi`, `clamp`

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    x = inputs[0]
    return fitting(fitted(x.low, x.high, [NOTHING], (attributes["lo"], attributes["hi"])), 1)


# add, fast kernel.

ADD_ISAS = ("portable",)


def prepare_add(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands, or None if no word holds an aligned one; `after` is the `Epilogue` of the sums.

    Parameters
    ----------
    inputs : list of Operand
        a [...]; b of the shape of a, or a constant that broadcasts to a sample of a; shapes are those of one
        sample.
    outputs : list of one Operand; y of the shape of a, with its proved range
    attributes : mapping; complete attributes: `shift_a`, `shift_b`
    after : Epilogue, optional; what is done to the results before they are written; by default nothing

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    return _prepared_sum(inputs, outputs, attributes, 1, after)


# sub, fast kernel.

SUB_ISAS = ("portable",)


def prepare_sub(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands, or None if no word holds an aligned one; `after` is the `Epilogue` of the sums.

    Parameters
    ----------
    inputs : list of Operand
        a [...]; b of the shape of a, or a constant that broadcasts to a sample of a; shapes are those of one
        sample.
    outputs : list of one Operand; y of the shape of a, with its proved range
    attributes : mapping; complete attributes: `shift_a`, `shift_b`
    after : Epilogue, optional; what is done to the results before they are written; by default nothing

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    return _prepared_sum(inputs, outputs, attributes, -1, after)


# mul, fast kernel: products in the word of the result.

MUL_ISAS = ("portable",)


def prepare_mul(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand
        x [...]; w of the shape of x, or a constant that broadcasts to a sample of x; shapes are those of one
        sample.
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `constant`

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    shape, constant = inputs[0].shape, inputs[1].codes
    size = math.prod(shape)
    spread = None if constant is None else np.array(np.broadcast_to(constant, shape)).reshape(1, size)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        w = inputs[1].reshape(len(y), size) if spread is None else spread
        multiply_rows(x.reshape(len(y), size), w, y.reshape(len(y), size))

    return run


# soft_threshold, fast kernel: x less the nearest code of -t..t, many at a time.

SOFT_THRESHOLD_ISAS = ("portable",)


@functools.cache
def _shrinking(word, across, how):
    """Return the kernel for x [rows, n]: a threshold for each column if `across`, else row r has number r % how many.

    Codes are fitted as `after` says, whose `how` is given; it returns the overflows.
    """
    fits, plain = how != AS_THEY_ARE, how == PLAIN

    @kernel
    def shrink(x, upper, lower, after, y):
        lo, hi, kept, rules, events = after.lo, after.hi, after.kept, after.rules, 0
        shift, places, added, odd, below, floor = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
        for r in range(x.shape[0]):
            row, out, c, found = x[r], y[r], r % upper.size, word(0)
            for i in range(row.size):
                code, k = word(row[i]), i if across else c
                shrunk = sub(code, maximum(minimum(code, upper[k]), lower[k]))
                if fits:
                    code, shrunk = apply_one(plain, shrunk, shift, places, added, odd, below, floor, lo, hi, kept)
                    found = add(found, word(code != shrunk))
                out[i] = shrunk
            events += found
        return events

    return shrink


def prepare_soft_threshold(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands, fitted as `after` says if it is a `Epilogue`, or None if no word or rule will do.

    Parameters
    ----------
    inputs : list of Operand
        x [...]; constant thresholds, one, or one for each channel, at least 0; shapes are those of one sample.
    outputs : list of one Operand; y of the shape of x, with its proved range
    attributes : mapping; complete attributes: `axis`
    after : Epilogue, optional; what is done to the results before they are written; by default nothing

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    x, thresholds = inputs
    axis, channels = attributes["axis"], thresholds.codes.size
    inner = 1 if axis < 0 else math.prod(x.shape[axis:])
    word = word_of(x.low, x.high, -thresholds.high, thresholds.high)
    if word is None or (after and after.rules.shape[1] > 1):
        return None
    word = max(word, after.word, key=WORDS.index) if after else word
    upper = thresholds.codes.reshape(-1).astype(word)
    lower = np.negative(upper)
    across = channels > 1 and inner == 1
    rule = one_rule(after, word)
    shrink = _shrinking(word, across, rule.how)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        rows = x.size // channels if across else x.size // inner if channels > 1 else len(x)
        shape = (rows, x.size // max(rows, 1))
        events = shrink(x.reshape(shape), upper, lower, rule, y.reshape(shape))
        return events if after and after.events else None

    return run
