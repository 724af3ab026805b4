"""Norms of codes: operations as they are counted, distance from the float functions, thresholds, refusals."""

from __future__ import annotations

import collections
from dataclasses import replace

import numpy as np
import pytest

from mfsim import ops
from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Node
from mfsim.ops.norm.tables import eps_code, guard_bits, reciprocal_bits, shift_thresholds
from mfsim.ops.op import activation, constant, objects
from tests.ops.norm.cases import threshold_rows
from tests.ops.proving import compute, counted, prove, refusal

GAMMA = Scale.of(-6)


def root_norm(op, x, fraction, *, eps=1e-5, gamma=None, **changed):
    """Return tensors and attributes of a norm that divides by a root, as a quantized layer makes them."""
    width, centred = x.shape[-1], op.startswith("layer")
    rng = np.random.default_rng(3)
    codes = rng.integers(16, 127, width) if gamma is None else np.resize(gamma, width)
    tensors = [x, constant("gamma", codes, Format(8), GAMMA)]
    if centred:
        tensors.append(constant("beta", rng.integers(-9, 9, width), Format(8), Scale.of(-fraction)))
    guard = guard_bits(fraction, x.format, width, x.scale.exponent, eps)
    attributes = {"fraction": fraction, "guard": guard, "eps": eps_code(eps, width, x.scale.exponent, guard)}
    if op.endswith("recip"):
        attributes["reciprocal"] = reciprocal_bits(fraction, x.format, width, guard, 1)
    return tensors, attributes | changed


def shift_norm(op, x, fraction, **changed):
    """Return tensors and attributes of a shift norm."""
    width = x.shape[-1]
    beta = constant("beta", np.arange(width) % 7, Format(8), Scale.of(-fraction))
    thresholds = constant("thresholds", shift_thresholds(op[-2:], x.format, width))
    return (x, thresholds, beta), {"fraction": fraction, "exponents": (0,) * width} | changed


N = 48
TABLE = {
    "layer_norm": {"addsub": 5 * N, "cmp": 1, "shift": N + 2, "mul": 3 * N + 2, "div": N, "sqrt": 1},
    "layer_norm_recip": {"addsub": 5 * N, "cmp": 1, "shift": N + 1, "mul": 4 * N + 2, "div": 1, "sqrt": 1},
    "rms_norm": {"addsub": 2 * N, "cmp": 1, "shift": N + 2, "mul": 3 * N + 1, "div": N, "sqrt": 1},
    "rms_norm_recip": {"addsub": 2 * N, "cmp": 1, "shift": N + 1, "mul": 4 * N + 1, "div": 1, "sqrt": 1},
    "shift_norm_l1": {"addsub": 6 * N - 2, "cmp": 4, "shift": 4 * N + 1, "lut": 4},
    "shift_norm_l2": {"addsub": 6 * N, "cmp": 4, "shift": 4 * N + 3, "lut": 4, "mul": N + 1},
}
"""Operations of one row of N = 2^5 + 2^4 codes of 8 bits, N q as products in root norms; 15 thresholds."""


@pytest.mark.parametrize("op", sorted(TABLE))
def test_operations_of_a_row(op):
    make = shift_norm if op.startswith("shift") else root_norm
    tensors, attributes = make(op, activation("x", (2, N), Format(8), Scale.of(-4)), 5)
    expected = TABLE[op] | {"select": TABLE[op]["cmp"], "abs": N, "neg": N}
    assert counted(op, *tensors, **attributes) == {name: 2 * n for name, n in expected.items()}


@pytest.mark.parametrize("op", sorted(TABLE))
def test_classes_of_multiplications(op):
    make = shift_norm if op.startswith("shift") else root_norm
    tensors, attributes = make(op, activation("x", (N,), Format(8), Scale.of(-4)), 5)
    kind = ops.get(op)
    complete = kind.derived(tensors, attributes)
    inference = kind.infer(tensors, complete)
    node = Node("n", op, [str(k) for k in range(len(tensors))], ["y"], complete, inference.words, "layer")
    classes = collections.Counter()
    for row in kind.count(node, tensors, inference.outputs):
        classes[row.multiplied_by] += row.count if row.primitive == "mul" else 0
    squares = 0 if op.endswith("l1") else N + (not op.startswith("rms"))
    products = N if op.endswith("recip") else 0
    scaled = 0 if op.startswith("shift") else N + 1
    learned = 0 if op.startswith("shift") else N
    assert [classes[name] for name in ("fixed", "learned", "activation")] == [scaled, learned, squares + products]


@pytest.mark.parametrize(("width", "shifts", "sums"), [(1, 0, 0), (64, 1, 0), (65, 1, 1), (192, 2, 1), (7, 2, 2)])
def test_n_times_a_code_as_shifts(width, shifts, sums):
    x = activation("x", (width,), Format(8), Scale.of(-4))
    tensors, attributes = root_norm("rms_norm", x, 5)
    by_shifts, by_products = (counted("rms_norm", *tensors, **attributes, times_n=way) for way in ("shift", "mul"))
    assert by_products["mul"] - by_shifts["mul"] == width + 1
    assert by_shifts["shift"] - by_products["shift"] == (width + 1) * shifts
    assert by_shifts["addsub"] - by_products["addsub"] == (width + 1) * sums
    tensors, attributes = shift_norm("shift_norm_l1", x, 5)
    found = counted("shift_norm_l1", *tensors, **attributes)
    assert found["mul"] == found["div"] == found["sqrt"] == 0
    assert found["addsub"] == width * (5 + sums) - 2


def run(op, tensors, attributes, rows):
    """Return the codes of the kernel for rows [R, N]."""
    kind = ops.get(op)
    complete = kind.derived(tensors, attributes)
    kind.infer(tensors, complete)
    y = np.empty(rows.shape, dtype=np.int64)
    ops.plain_kernel(op)([rows, *(t.codes for t in tensors[1:])], complete, [y])
    return y


def kinds_of_rows(word, width, exponent=-4):
    """Yield normal rows of standard deviation 1, rows of codes 0 and 1, and rows with one code 1."""
    rng = np.random.default_rng(width)
    yield np.clip(np.rint(rng.normal(0, 2.0**-exponent, (200, width))), word.lo, word.hi).astype(np.int64)
    yield rng.integers(0, 2, (200, width))
    yield (np.arange(width) == rng.integers(0, width, (50, 1))).astype(np.int64)


@pytest.mark.parametrize("op", ["layer_norm", "layer_norm_recip", "rms_norm", "rms_norm_recip"])
@pytest.mark.parametrize(
    ("bits", "exponent", "fraction", "width"),
    [(8, -4, 5, 65), (8, -4, 8, 192), (8, -4, 5, 768), (16, -10, 10, 192), (16, -10, 10, 4096), (8, -4, 0, 65)],
)
def test_distance_from_the_float_function(op, bits, exponent, fraction, width):
    word = Format(bits)
    tensors, attributes = root_norm(op, activation("x", (width,), word, Scale.of(exponent)), fraction)
    assert (ops.get(op).derived(tensors, attributes)["shift"] < 0) == (fraction == 0)
    largest = tensors[1].codes.max() / 64
    # Half a code for the rounding, gamma / 4 for the root, as much for the reciprocal, little for that of eps.
    proved = 0.5 + largest / (2 if op.endswith("recip") else 4) + largest / 64
    measured = 0.52 if op.endswith("recip") else 0.51
    for kind, rows in enumerate(kinds_of_rows(word, width, exponent)):
        x = rows.astype(np.longdouble) * 2.0**exponent
        x = x - x.mean(-1, keepdims=True) if op.startswith("layer") else x
        ideal = x / np.sqrt((x**2).mean(-1, keepdims=True) + np.longdouble(1e-5))
        ideal = ideal * (tensors[1].codes / 64) * 2.0**fraction + (tensors[2].codes if len(tensors) > 2 else 0)
        error = np.abs(run(op, tensors, attributes, rows) - ideal).max()
        assert error <= (measured if kind == 0 else proved)


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("width", [64, 192])
def test_shift_norms_are_half_a_code_from_the_float_row_over_a_power_of_two(kind, width):
    word = Format(8)
    tensors, attributes = shift_norm(f"shift_norm_{kind}", activation("x", (width,), word), 5)
    gains = []
    for rows in kinds_of_rows(word, width):
        centred = rows - rows.mean(-1, keepdims=True)
        if kind == "l2":
            sigma = np.sqrt((centred**2).mean(-1, keepdims=True))
        else:
            sigma = np.abs(centred).mean(-1, keepdims=True) * np.sqrt(np.pi / 2)
        power = 2.0 ** np.floor(np.log2(width * sigma) + 0.5) / width
        codes = run(f"shift_norm_{kind}", tensors, attributes, rows)
        # 1e-9: float64 in the reference.
        assert np.abs(codes - tensors[2].codes - centred / power * 32).max() <= 0.5 + 1e-9
        gains.append(sigma / power)
    assert np.concatenate(gains).min() >= 2**-0.5
    assert np.concatenate(gains).max() <= 2**0.5


@pytest.mark.parametrize(("kind", "width"), [("l2", 4), ("l1", 4), ("l1", 7)])
def test_rows_on_a_threshold_are_there_and_tell_reached_from_passed(kind, width):
    word = Format(8)
    thresholds = shift_thresholds(kind, word, width)
    rows = threshold_rows(kind, width, word, thresholds)
    centred = [width * row - row.sum() for row in rows]
    statistics = [int((c**2).sum()) // width if kind == "l2" else int(np.abs(c).sum()) for c in centred]
    assert len(set(statistics) & set(thresholds)) >= 2
    tensors, attributes = shift_norm(f"shift_norm_{kind}", activation("x", (width,), word), 5)
    (expected,) = ops.get(f"shift_norm_{kind}").reference(
        [objects(np.array(rows)), *(objects(t.codes) for t in tensors[1:])], attributes
    )
    passed = constant("thresholds", np.array(thresholds) + 1)
    codes = run(f"shift_norm_{kind}", (tensors[0], passed, tensors[2]), attributes, np.array(rows))
    on = [k for k, statistic in enumerate(statistics) if statistic in thresholds]
    assert (codes[on] != expected[on].astype(np.int64)).any(-1).all()


def test_a_constant_row_gives_beta_with_eps_0():
    x = activation("x", (3,), Format(8), Scale.of(-4))
    for op in ("layer_norm", "layer_norm_recip"):
        tensors, attributes = root_norm(op, x, 5, eps=0.0)
        assert attributes["eps"] == 0
        (row,) = compute(op, tensors, [[[7, 7, 7]]], **attributes)
        assert row == tensors[2].codes.tolist()


def test_the_proved_range_of_a_normalised_code_is_that_of_samuelson():
    x = activation("x", (65,), Format(8), Scale.of(-4))
    tensors, attributes = root_norm("layer_norm", x, 5, gamma=[64])
    bound = prove("layer_norm", *tensors, **attributes).words["normalised"].hi
    one_hot = (np.arange(65) == 3) * 255 - 128
    reached = run("layer_norm", tensors, attributes, one_hot[None]) - tensors[2].codes
    assert reached.max() == 8 * 32
    assert 8 * 32 <= bound < 2 * 8 * 32


X = activation("x", (4,), Format(8), Scale.of(-4))


def changed(op, k=None, tensor=None, **attributes):
    """Return the refusal of `op` with one tensor or some attributes changed."""
    make = shift_norm if op.startswith("shift") else root_norm
    tensors, complete = make(op, X, 5)
    tensors = [tensor if i == k else given for i, given in enumerate(tensors)]
    return refusal(op, *tensors, **{**complete, **attributes})


@pytest.mark.parametrize(
    ("found", "error", "message"),
    [
        (
            lambda: changed("layer_norm", 2, constant("b", [1] * 4, Format(8), Scale.of(-4))),
            FormatError,
            "beta of op `layer_norm` must lie on the grid 2^-5 of the result, not on 2^-4",
        ),
        (
            lambda: changed("rms_norm", 1, constant("g", [1] * 3, Format(8), GAMMA)),
            ShapeError,
            "gamma of op `rms_norm` must have the shape (4,), not (3,)",
        ),
        (
            lambda: changed("rms_norm", 1, activation("g", (4,), Format(8))),
            FormatError,
            "gamma of op `rms_norm` must be a constant",
        ),
        (
            lambda: changed("rms_norm", 1, constant("g", [1] * 4, Format(8), Scale((-6, -5, -6, -6), 0))),
            FormatError,
            "one scale for the whole tensor is needed here, not one for each channel; requantize first",
        ),
        (
            lambda: changed("layer_norm", 0, replace(X, scale=Scale((-4, -5, -4, -4), 1))),
            FormatError,
            "x of op `layer_norm` must have one scale; requantize first",
        ),
        (
            lambda: changed("layer_norm", 0, activation("x", (), Format(8))),
            ShapeError,
            "x of op `layer_norm` must have an axis of at least 1 behind the batch, not (1,)",
        ),
        (
            lambda: changed("layer_norm", fraction=32),
            FormatError,
            "`fraction` of op `layer_norm` must be in -31..31, not 32",
        ),
        (
            lambda: changed("layer_norm", guard=-1),
            FormatError,
            "`guard` of op `layer_norm` must be in 0..30 and `eps` at least 0",
        ),
        (
            lambda: changed("layer_norm", guard=24),
            RangeError,
            "the radicand of op `layer_norm` needs 66 bits, and at most 62 are possible; "
            "use fewer guard bits or a narrower input",
        ),
        (
            lambda: changed("layer_norm", shift=3),
            FormatError,
            "`shift` of op `layer_norm` must be 6 for its scales",
        ),
        (
            lambda: changed("rms_norm_recip", reciprocal=4),
            FormatError,
            "`reciprocal` of op `rms_norm_recip` must be in 7..62, not 4",
        ),
        (
            lambda: changed("shift_norm_l1", exponents=(0, 0, 0)),
            FormatError,
            "`exponents` of op `shift_norm_l1` must be 4 ints in -8..8, one for each channel",
        ),
        (
            lambda: changed("shift_norm_l2", fraction=-1),
            FormatError,
            "`fraction` of op `shift_norm_l2` must be in 0..31, not -1",
        ),
        (
            lambda: changed("shift_norm_l2", 1, constant("t", [2, 8, 8])),
            FormatError,
            "the thresholds of op `shift_norm_l2` must be positive and ascend",
        ),
        (
            lambda: changed("shift_norm_l2", 1, activation("t", (3,), Format(8))),
            ShapeError,
            "the thresholds of op `shift_norm_l2` must be a constant of one axis",
        ),
    ],
)
def test_what_cannot_be_is_refused(found, error, message):
    assert found() == (error, message)
