"""Normalisers, norms and fixed-point transforms counted from shapes: as the integer op of rows of 8-bit codes in their place.

How often an integer form adds, compares and looks up does not depend on the values, but some of its
words and table sizes do; here they are those of 8-bit codes on 2**-6, whose tables need no clamped index.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Node, Tensor, Value
from mfsim.ops.fourier import dct_tables, dft_tables
from mfsim.ops.fourier import filterbank_tables as filterbanks
from mfsim.ops.fourier.dct import OP as DCT
from mfsim.ops.fourier.dft_alpha_beta import OP as DFT_ALPHA_BETA
from mfsim.ops.fourier.dft_magnitude import OP as DFT_MAGNITUDE
from mfsim.ops.fourier.filterbank import OP as FILTERBANK
from mfsim.ops.norm import tables as norms
from mfsim.ops.norm.layer_norm import OP as LAYER_NORM
from mfsim.ops.norm.layer_norm_recip import OP as LAYER_NORM_RECIP
from mfsim.ops.norm.rms_norm import OP as RMS_NORM
from mfsim.ops.norm.rms_norm_recip import OP as RMS_NORM_RECIP
from mfsim.ops.norm.shift_norm_l1 import OP as SHIFT_NORM_L1
from mfsim.ops.norm.shift_norm_l2 import OP as SHIFT_NORM_L2
from mfsim.ops.op import Op, Row, activation, constant
from mfsim.ops.softmax.softmax import OP as SOFTMAX
from mfsim.ops.softmax.softmax_log import OP as SOFTMAX_LOG
from mfsim.ops.softmax.softmax_recip import OP as SOFTMAX_RECIP
from mfsim.ops.softmax.softmax_shift import OP as SOFTMAX_SHIFT
from mfsim.ops.softmax.tables import (
    LOG_TABLE_BITS,
    default_fine_bits,
    default_fraction,
    exp_table,
    log_tables,
    reciprocal_bits,
    softmax_shift_thresholds,
    softmax_table_bits,
    tanh_l1_shift_thresholds,
    tanh_l1_table_bits,
    tanh_table,
)
from mfsim.ops.softmax.tanh_l1 import OP as TANH_L1
from mfsim.ops.softmax.tanh_l1_shift import OP as TANH_L1_SHIFT

WORD, EXPONENT = Format(8), -6

EPS = 1e-5

SOFTMAXES = {"division": SOFTMAX, "reciprocal": SOFTMAX_RECIP, "shift": SOFTMAX_SHIFT, "log": SOFTMAX_LOG}
TANH_L1S = {"division": TANH_L1, "shift": TANH_L1_SHIFT}
LAYER_NORMS = {"division": LAYER_NORM, "reciprocal": LAYER_NORM_RECIP}
RMS_NORMS = {"division": RMS_NORM, "reciprocal": RMS_NORM_RECIP}
SHIFT_NORMS = {"l1": SHIFT_NORM_L1, "l2": SHIFT_NORM_L2}
"""The ops of the forms of a layer, here and above."""


def _rows(op: Op, inputs: Sequence[Tensor], attributes: Mapping[str, Value], bits: int) -> tuple[Row, ...]:
    complete = op.derived(inputs, attributes)
    inference = op.infer(inputs, complete)
    counted = op.count(Node("", op.name, (), (), complete, inference.words), list(inputs), list(inference.outputs))
    return tuple(replace(row, widths=(bits,) * len(row.widths)) for row in counted)


def _constant(name: str, codes: Sequence[int]) -> Tensor:
    return constant(name, np.array(codes, dtype=np.int64))


def _mask(causal: bool, length: int) -> list[Tensor]:
    if not causal:
        return []
    return [constant("mask", np.tril(np.ones((length, length), dtype=np.int64)), Format(1, False))]


@functools.lru_cache(maxsize=32)
def softmax_rows(shape: tuple[int, ...], bits: int, form: str = "division", causal: bool = False) -> tuple[Row, ...]:
    """Return the rows of a softmax over the last axis of `shape`, in a form of `mfsim.nn.Softmax`.

    Parameters
    ----------
    shape : tuple of int
        Of the scores; [..., T, T] if `causal`.
    bits : int, at least 1
        Width of the operands that the rows state.
    form : {"division", "reciprocal", "shift", "log"}
    causal : bool
        Whether row i sees the columns 0..i only.

    Returns
    -------
    tuple of Row
    """
    length = shape[-1]
    fraction, x = default_fraction(length), activation("x", shape, WORD, Scale.of(EXPONENT))
    table_bits = softmax_table_bits(fraction, length)
    inputs, attributes = [x], {"fraction": fraction}
    if form == "log":
        tables = log_tables(EXPONENT, length, fraction)
        table_bits = LOG_TABLE_BITS
        attributes["fine_bits"] = default_fine_bits(fraction, EXPONENT)
        names = ("thresholds", "lnk_table", "lnm_table", "out_table")
        others = [_constant(name, getattr(tables, name)) for name in names]
    elif form == "shift":
        others = [_constant("thresholds", softmax_shift_thresholds(table_bits, length))]
    else:
        others = []
        if form == "reciprocal":
            attributes["reciprocal"] = reciprocal_bits(fraction, table_bits)
    inputs += [_constant("exp_table", exp_table(EXPONENT, WORD.bits, table_bits)), *others]
    return _rows(SOFTMAXES[form], [*inputs, *_mask(causal, length)], attributes, bits)


@functools.lru_cache(maxsize=32)
def tanh_l1_rows(shape: tuple[int, ...], bits: int, form: str = "division", causal: bool = False) -> tuple[Row, ...]:
    """Return the rows of a tanh-l1 over the last axis of `shape`, in a form of `mfsim.nn.TanhL1`.

    Parameters
    ----------
    shape : tuple of int
        Of the scores; [..., T, T] if `causal`.
    bits : int, at least 1
        Width of the operands that the rows state.
    form : {"division", "shift"}
    causal : bool
        Whether row i sees the columns 0..i only.

    Returns
    -------
    tuple of Row
    """
    length = shape[-1]
    fraction = default_fraction(length)
    table_bits = tanh_l1_table_bits(fraction)
    inputs = [
        activation("x", shape, WORD, Scale.of(EXPONENT)),
        _constant("tanh_table", tanh_table(EXPONENT, WORD.bits, table_bits)),
    ]
    if form == "shift":
        inputs.append(_constant("thresholds", tanh_l1_shift_thresholds(table_bits, length)))
    return _rows(TANH_L1S[form], [*inputs, *_mask(causal, length)], {"fraction": fraction, "eps": 1}, bits)


@functools.lru_cache(maxsize=32)
def norm_rows(shape: tuple[int, ...], bits: int, centred: bool, form: str = "division") -> tuple[Row, ...]:
    """Return the rows of LayerNorm (`centred`) or RMSNorm over the last axis of `shape`, with gamma and beta.

    Parameters
    ----------
    shape : tuple of int
        Of the activations.
    bits : int, at least 1
        Width of the operands that the rows state.
    centred : bool
        True for LayerNorm, False for RMSNorm, which has no beta.
    form : {"division", "reciprocal"}

    Returns
    -------
    tuple of Row
    """
    width, fraction = shape[-1], 5
    guard = norms.guard_bits(fraction, WORD, width, EXPONENT, EPS)
    inputs = [
        activation("x", shape, WORD, Scale.of(EXPONENT)),
        constant("gamma", np.full(width, 64), Format(8), Scale.of(-6)),
    ]
    if centred:
        inputs.append(constant("beta", np.zeros(width, dtype=np.int64), Format(8), Scale.of(-fraction)))
    attributes: dict[str, Value] = {
        "fraction": fraction,
        "guard": guard,
        "eps": norms.eps_code(EPS, width, EXPONENT, guard),
    }
    if form == "reciprocal":
        attributes["reciprocal"] = norms.reciprocal_bits(fraction, WORD, width, guard, 1)
    return _rows((LAYER_NORMS if centred else RMS_NORMS)[form], inputs, attributes, bits)


@functools.lru_cache(maxsize=32)
def shift_norm_rows(shape: tuple[int, ...], bits: int, kind: str) -> tuple[Row, ...]:
    """Return the rows of a `mfsim.nn.ShiftNorm` over the last axis of `shape`.

    Parameters
    ----------
    shape : tuple of int
        Of the activations.
    bits : int, at least 1
        Width of the operands that the rows state.
    kind : {"l1", "l2"}
        How sigma is measured.

    Returns
    -------
    tuple of Row
    """
    width, fraction = shape[-1], 5
    inputs = [
        activation("x", shape, WORD, Scale.of(EXPONENT)),
        _constant("thresholds", norms.shift_thresholds(kind, WORD, width)),
        constant("beta", np.zeros(width, dtype=np.int64), Format(8), Scale.of(-fraction)),
    ]
    return _rows(SHIFT_NORMS[kind], inputs, {"fraction": fraction, "exponents": (0,) * width}, bits)


@functools.lru_cache(maxsize=32)
def magnitude_rows(shape: tuple[int, ...], bits: int, form: str = "root") -> tuple[Row, ...]:
    """Return the rows of Fourier magnitudes over the last axis of `shape`, in a form of `mfsim.nn.DFTMagnitude`.

    Parameters
    ----------
    shape : tuple of int
        Of the activations; the last is a power of two of at least 4.
    bits : int, at least 1
        Width of the operands that the rows state.
    form : {"root", "alpha-beta", "csd"}

    Returns
    -------
    tuple of Row

    Raises
    ------
    ShapeError
        If the length is no power of two of at least 4.
    """
    length, fraction = shape[-1], 5
    x = activation("x", shape, WORD, Scale.of(EXPONENT))
    error = dft_tables.result_error if form == "root" else dft_tables.estimate_error
    guard, places = dft_tables.defaults(length, x.range.bound, fraction, EXPONENT, error)
    table = constant("cosines", np.array(dft_tables.cosines(length, places)), scale=Scale.of(-places))
    attributes: dict[str, Value] = {"fraction": fraction, "guard": guard}
    if form == "root":
        return _rows(DFT_MAGNITUDE, [x, table], attributes, bits)
    attributes["products"] = "shift" if form == "csd" else "mul"
    return _rows(DFT_ALPHA_BETA, [x, table], attributes, bits)


@functools.lru_cache(maxsize=32)
def cosine_rows(shape: tuple[int, ...], bits: int, form: str) -> tuple[Row, ...]:
    """Return the rows of a fast cosine transform over the last axis of `shape`, in the form fast or csd of `mfsim.nn.DCT`.

    Parameters
    ----------
    shape : tuple of int
        Of the activations; the last is a power of two of at least 2.
    bits : int, at least 1
        Width of the operands that the rows state.
    form : {"fast", "csd"}
        Whether products are multiplications, or shifts and additions of signed digits.

    Returns
    -------
    tuple of Row
    """
    length, fraction = shape[-1], 5
    x = activation("x", shape, WORD, Scale.of(EXPONENT))
    guard, places = dct_tables.defaults(length, x.range.bound, fraction, EXPONENT)
    table = constant("multipliers", np.array(dct_tables.multipliers(length, places)), scale=Scale.of(-places))
    products = "shift" if form == "csd" else "mul"
    return _rows(DCT, [x, table], {"fraction": fraction, "guard": guard, "products": products}, bits)


@functools.lru_cache(maxsize=32)
def filterbank_rows(
    shape: tuple[int, int, int], bits: int, grid: int, form: str, gains: tuple[int, ...]
) -> tuple[Row, ...]:
    """Return the rows of a filterbank by Fourier transforms, in the form fft or csd of `mfsim.nn.Filterbank`.

    Parameters
    ----------
    shape : tuple of (heads, tokens, features)
        Tokens are the passing ones and grid**2 patches.
    bits : int, at least 1
        Width of the operands that the rows state.
    grid : int
        Patches of a side, a power of two of at least 4.
    form : {"fft", "csd"}
    gains : tuple of grid**2 ints
        Of one head, even codes on 2**-9; their signed digits decide what the form csd adds.

    Returns
    -------
    tuple of Row
    """
    heads, tokens, _ = shape
    x, fraction = activation("x", shape, WORD, Scale.of(EXPONENT)), 5
    codes = np.array(gains * heads).reshape(heads, grid, grid)
    guard, places = filterbanks.defaults(grid, x.range.bound, max(gains) * 2.0**-9, WORD.bits, fraction, EXPONENT)
    inputs = [
        x,
        constant("cosines", np.array(dft_tables.cosines(grid, places)), scale=Scale.of(-places)),
        constant("gains", codes, scale=Scale.of(-9)),
    ]
    attributes: dict[str, Value] = {
        "fraction": fraction,
        "guard": guard,
        "passing": tokens - grid * grid,
        "products": "shift" if form == "csd" else "mul",
    }
    return _rows(FILTERBANK, inputs, attributes, bits)
