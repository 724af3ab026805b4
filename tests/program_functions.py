"""How random programs get nodes whose constants belong together: norms, normalisers, transforms, other products.

Each takes (maker, x, pool) of `tests/programs.py` and returns inputs and attributes, or None where x does not suit.
"""

from __future__ import annotations

import functools

import numpy as np

from mfsim.ir.formats import Format, Scale
from mfsim.ops.fourier import dct_tables, dft_tables
from mfsim.ops.fourier import filterbank_tables as filterbanks
from mfsim.ops.fourier.filterbank import even
from mfsim.ops.norm import tables as norms
from mfsim.ops.power_of_two.shift_matmul import powers
from mfsim.ops.softmax.tables import (
    LOG_TABLE_BITS,
    default_fine_bits,
    exp_table,
    log_tables,
    reciprocal_bits,
    softmax_shift_thresholds,
    tanh_l1_shift_thresholds,
    tanh_table,
)

NARROW = 10
"""Past this many bits a row is not given to a function."""


def rows(made):
    """Return `made` for rows on one scale of words that are not too wide; others get no node."""

    @functools.wraps(made)
    def suited(make, x, pool):
        return made(make, x, pool) if x.scale.axis is None and x.format.bits <= NARROW else None

    return suited


def constant(make, codes, word=None, exponent=0):
    """Return a constant."""
    return make.builder.constant("c", np.array(codes, dtype=np.int64), word, Scale.of(exponent))


def softmax_of(form):
    @rows
    def made(make, x, pool):
        length, exponent, fraction = x.shape[-1], x.scale.exponent, make.int(3, 8)
        bits = make.int(fraction + 1, 12)
        attributes, others = {"fraction": fraction}, []
        if form == "log":
            bits, attributes["fine_bits"] = LOG_TABLE_BITS, default_fine_bits(fraction, exponent)
            tables = log_tables(exponent, length, fraction)
            others = [tables.thresholds, tables.lnk_table, tables.lnm_table, tables.out_table]
        elif form == "shift":
            others = [softmax_shift_thresholds(bits, length)]
        elif form == "recip":
            attributes["reciprocal"] = reciprocal_bits(fraction, bits)
        table = constant(make, exp_table(exponent, x.format.bits, bits), None, -bits)
        return [x.name, table, *(constant(make, codes) for codes in others), *mask(make, x)], attributes

    return made


def mask(make, x):
    """Return a constant mask in which each row sees its own place, or none."""
    if len(x.shape) < 3 or make.rng.random() < 0.5:
        return []
    shape = x.shape[-2:]
    return [
        constant(make, (make.rng.random(shape) < 0.5) | np.eye(*shape, dtype=bool)[:, : shape[1]], Format(1, False))
    ]


def tanh_l1_of(form):
    @rows
    def made(make, x, pool):
        fraction = make.int(3, 8)
        bits = make.int(fraction + 1, 12)
        codes = tanh_table(x.scale.exponent, x.format.bits, bits, signed=x.format.signed)
        others = [constant(make, tanh_l1_shift_thresholds(bits, x.shape[-1]))] if form == "shift" else []
        return [x.name, constant(make, codes, None, -bits), *others], {"fraction": fraction, "eps": make.int(1, 9)}

    return made


def norm_of(centred, reciprocal):
    @rows
    def made(make, x, pool):
        width, exponent, fraction = x.shape[-1], x.scale.exponent, make.int(0, 6)
        guard = norms.guard_bits(fraction, x.format, width, exponent, 1e-5)
        attributes = {"fraction": fraction, "guard": guard, "eps": norms.eps_code(1e-5, width, exponent, guard)}
        attributes["times_n"] = make.one("mul", "shift")
        if reciprocal:
            attributes["reciprocal"] = norms.reciprocal_bits(fraction, x.format, width, guard, 2)
        gamma = make.constant((width,), 8, Scale.of(-6))
        beta = [make.constant((width,), 6, Scale.of(-fraction))] if centred else []
        return [x.name, gamma, *beta], attributes

    return made


def shift_norm_of(kind):
    @rows
    def made(make, x, pool):
        width, fraction = x.shape[-1], make.int(0, 6)
        thresholds = constant(make, norms.shift_thresholds(kind, x.format, width))
        beta = make.constant((width,), 6, Scale.of(-fraction))
        gains = tuple(make.int(-2, 2) for _ in range(width))
        return [x.name, thresholds, beta], {"fraction": fraction, "exponents": gains}

    return made


def transform_of(derived, codes, error=(), **options):
    @rows
    def made(make, x, pool):
        n, fraction = x.shape[-1], make.int(0, 5)
        guard, bits = derived.defaults(n, x.range.bound, fraction, x.scale.exponent, *error)
        table = constant(make, codes(n, bits), None, -bits)
        return [x.name, table], {"fraction": fraction, "guard": guard} | {k: make.one(*v) for k, v in options.items()}

    return made


@rows
def filterbank(make, x, pool):
    """Return a filterbank over a grid of 4 x 4, or of 8 x 8, of all codes."""
    if x.sample_size % 16:
        return None
    grid = 8 if x.sample_size % 64 == 0 and make.rng.random() < 0.5 else 4
    features = x.sample_size // grid**2
    heads = make.one(1, features)
    image = make.builder.node("reshape", [x.name], {"shape": (heads, grid * grid, features // heads)})
    fraction, places = make.int(0, 5), make.int(0, 8)
    gains = even(make.rng, (heads, grid, grid), -9, 60)
    most = 60 * 2.0**-places
    guard, bits = filterbanks.defaults(grid, x.range.bound, most, 7, fraction, x.scale.exponent)
    constants = [constant(make, dft_tables.cosines(grid, bits), None, -bits), constant(make, gains, None, -places)]
    attributes = {"fraction": fraction, "guard": guard, "passing": 0, "products": make.one("mul", "shift")}
    return [image, *constants], attributes


def aligned_weights(make, x, shape, axis):
    """Return weights on one scale and perhaps a bias on the finer of theirs and that of x."""
    exponent = make.int(-8, 0)
    w = make.constant(shape, make.int(2, 8), Scale.of(exponent))
    return [w, *make.bias((min(x.scale.exponent, exponent),), shape[axis])]


def power_weights(make, x, shape, axis):
    """Return weights that are powers of two, and perhaps a bias on the product's grid."""
    exponent = make.int(-8, 0)
    w = make.builder.constant("c", powers(make.rng, make.int(1, 5), shape), Format(7), Scale.of(exponent))
    return [w, *make.bias((x.scale.exponent + exponent,), shape[axis])]


def matmul_of(weights):
    def made(make, x, pool):
        return [x.name, *weights(make, x, (x.shape[-1], make.int(1, 6)), 1)], {}

    return made


def conv2d_of(weights, window):
    def made(make, x, pool):
        if len(x.shape) != 4:
            return None
        groups = make.one(1, 1, x.shape[1])
        shape = (groups * make.int(1, 3), x.shape[1] // groups, make.int(1, 3), make.int(1, 3))
        return [x.name, *weights(make, x, shape, 0)], window(make, x) | {"groups": groups}

    return made


def csd_gain(make, x, pool):
    axis = make.one(-1, make.int(1, len(x.shape) - 1))
    c = make.constant((1 if axis < 0 else x.shape[axis],), make.int(2, 9), Scale.of(make.int(-8, 0)))
    return [x.name, c], {"digits": make.int(1, 4), "axis": axis}


@rows
def gram(make, x, pool):
    return [x.name], {}


def embedding(make, x, pool):
    if x.range.low < 0 or x.range.high > 64:
        return None
    return [x.name, make.constant((x.range.high + make.int(1, 3), make.int(1, 4)), 6, Scale.of(-4))], {}


FUNCTIONS = {
    "csd_gain": csd_gain,
    "dct": transform_of(dct_tables, dct_tables.multipliers, products=("mul", "shift")),
    "dft_alpha_beta": transform_of(
        dft_tables, dft_tables.cosines, (dft_tables.estimate_error,), products=("mul", "shift")
    ),
    "dft_magnitude": transform_of(dft_tables, dft_tables.cosines),
    "embedding": embedding,
    "filterbank": filterbank,
    "gram": gram,
    "layer_norm": norm_of(True, False),
    "layer_norm_recip": norm_of(True, True),
    "rms_norm": norm_of(False, False),
    "rms_norm_recip": norm_of(False, True),
    "shift_norm_l1": shift_norm_of("l1"),
    "shift_norm_l2": shift_norm_of("l2"),
    "softmax": softmax_of("division"),
    "softmax_log": softmax_of("log"),
    "softmax_recip": softmax_of("recip"),
    "softmax_shift": softmax_of("shift"),
    "tanh_l1": tanh_l1_of("division"),
    "tanh_l1_shift": tanh_l1_of("shift"),
}
"""How a node of each of these ops is made."""
