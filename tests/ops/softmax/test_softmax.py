"""Softmax of codes: error against the float function, words, masks, counts; and what it refuses."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from mfsim import ops
from mfsim.analysis import count, strict_multiplication_free
from mfsim.errors import CountError, FormatError, MfsimError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from tests.ops.cases import cases_of
from tests.ops.normaliser_programs import SOFTMAXES, program, rows, run

N, EXPONENT, FRACTION = 65, -4, 8


def weights(codes, exponent=EXPONENT, gain=1.0):
    """Return the float softmax of codes."""
    powers = np.exp(gain * 2.0**exponent * (codes - codes.max(-1, keepdims=True)))
    return powers / powers.sum(-1, keepdims=True)


def bound(op, p, table_bits, gain=1.0):
    """Return the bound that the op's docstring states, in LSB, for float weights p of rows of N."""
    error = 0.5 + 2.0 ** (FRACTION - table_bits - 1) * (1 + p * N)
    if op == "softmax_recip":
        return error + 2.0**-4
    if op == "softmax_log":
        logarithm = gain * 2.0 ** (EXPONENT - 5) + 2.0**-9 + N * 2.0 ** -(table_bits + 1)
        return 0.5 + 2.0**FRACTION * p * (math.exp(logarithm) - 1)
    return error


@pytest.mark.parametrize(
    ("op", "table_bits", "measured"),
    [("softmax", 15, 0.53), ("softmax", 12, 0.8), ("softmax_recip", 15, 0.57), ("softmax_log", 12, 1.1)],
)
def test_the_error_of_ten_thousand_rows(op, table_bits, measured):
    """Each weight within its proved bound; the greatest error, in LSB, within what docs/integer-functions.md says."""
    made = program(op, (N,), table_bits=table_bits)
    for deviation in (1, 2, 4):
        codes = rows(10_000, N, EXPONENT, deviation)
        p = weights(codes)
        error = abs(run(made, codes) - 2.0**FRACTION * p)
        # 1e-9 LSB: the float softmax in double precision.
        assert (error <= bound(op, p, table_bits) + 1e-9).all()
        assert error.max() <= measured
        assert error.mean() <= 0.26


@pytest.mark.parametrize("op", ["softmax", "softmax_recip", "softmax_log"])
@pytest.mark.parametrize("gain", [1 / math.sqrt(48), 3.0])
def test_the_gain_is_that_of_the_table(op, gain):
    made = program(op, (N,), gain=gain, table_bits=None if op == "softmax_log" else 15)
    codes = rows(500, N, EXPONENT, 2)
    p = weights(codes, gain=gain)
    error = abs(run(made, codes) - 2.0**FRACTION * p)
    assert (error <= bound(op, p, 12 if op == "softmax_log" else 15, gain) + 1e-9).all()


def test_shift_is_softmax_with_its_sum_rounded_to_a_power_of_two():
    codes, table_bits = rows(10_000, N, EXPONENT, 2), 15
    y = run(program("softmax_shift", (N,), table_bits=table_bits), codes)
    powers = np.exp(2.0**EXPONENT * (codes - codes.max(-1, keepdims=True)))
    logarithm = np.log2(powers.sum(-1, keepdims=True))
    far = abs(logarithm - np.floor(logarithm) - 0.5)[:, 0] > N * 2.0 ** -(table_bits + 1)
    assert far.mean() > 0.99
    error = abs(y - 2.0**FRACTION * powers / 2.0 ** np.rint(logarithm))[far]
    assert error.max() <= 0.5 + 2.0 ** (FRACTION - table_bits - 1)
    sums = y.sum(-1) / 2**FRACTION
    # A rounding of half a code for each entry; hardly any of them in one direction.
    assert 0.67 < sums.min() < 0.75
    assert 1.35 < sums.max() < 1.46


@pytest.mark.parametrize("op", sorted(SOFTMAXES))
def test_order_is_kept_and_a_single_large_score_takes_everything(op):
    codes = rows(2_000, N, EXPONENT, 2)
    y = run(program(op, (N,)), codes)
    order = np.argsort(codes, axis=-1)
    assert (np.diff(np.take_along_axis(y, order, -1), axis=-1) >= 0).all()
    alone = np.full((1, N), -128)
    alone[0, 7] = 127
    assert run(program(op, (N,)), alone)[0].tolist() == [0] * 7 + [256] + [0] * 57


@pytest.mark.parametrize("op", sorted(SOFTMAXES))
def test_what_a_mask_hides_is_as_if_it_were_not_there(op):
    codes = rows(50, 5, EXPONENT, 2)[:, None]
    mask = np.array([1, 0, 1, 1, 0])
    visible = run(program(op, (1, 3), table_bits=12), codes[:, :, mask == 1])
    for given, feeds in ((mask, ()), ((1, 5), (np.broadcast_to(mask, (50, 1, 5)),))):
        y = run(program(op, (1, 5), table_bits=12, mask=given), codes, *feeds)
        assert (y[:, :, mask == 1] == visible).all()
        assert not y[:, :, mask == 0].any()


@pytest.mark.parametrize("op", sorted(SOFTMAXES))
def test_a_row_that_a_live_mask_hides_is_zero(op):
    y = run(program(op, (5,), mask=(5,)), rows(9, 5, EXPONENT, 2), np.zeros((9, 5), dtype=np.int64))
    assert not y.any()


LENGTHS = {
    (65, 12, 8): {"distance": 8, "term": 13, "sum": 19, "numerator": 22, "reciprocal": 13, "product": 25, "y": 9},
    (4096, 12, 8): {"distance": 8, "term": 13, "sum": 25, "numerator": 25, "reciprocal": 13, "product": 25, "y": 9},
}


@pytest.mark.parametrize(("length", "table_bits", "fraction"), LENGTHS)
def test_words(length, table_bits, fraction):
    expected = LENGTHS[length, table_bits, fraction]
    for op in SOFTMAXES:
        made = program(op, (length,), fraction=fraction, table_bits=table_bits)
        (node,) = made.nodes
        bits = {name: word.bits for name, word in node.words.items()} | {"y": made.outputs_of(node)[0].format.bits}
        known = {name: width for name, width in expected.items() if name in bits}
        known.pop("numerator") if op == "softmax_shift" else None
        assert {name: bits[name] for name in known} == known
        assert not any(word.signed for word in node.words.values())


def counted(op, length, **options):
    return count(program(op, (length,), **options)).by_primitive()


def searches(thresholds):
    return math.ceil(math.log2(thresholds + 1))


@pytest.mark.parametrize("n", [7, 65, 1000])
def test_counts_of_a_row(n):
    """All lookups pass the end of their table here, so each index is compared."""
    steps = searches(math.ceil(math.log2(n)) + 1)
    assert counted("softmax", n) == {
        "addsub": 3 * n - 1, "cmp": 2 * n - 1, "select": 2 * n - 1, "lut": n, "shift": n + 1, "div": n, "mul": 0, "sqrt": 0,
    }  # fmt: skip
    assert counted("softmax_recip", n) == {
        "addsub": 3 * n - 1, "cmp": 2 * n - 1, "select": 2 * n - 1, "lut": n, "shift": n, "div": 1, "mul": n, "sqrt": 0,
    }  # fmt: skip
    assert counted("softmax_shift", n) == {
        "addsub": 3 * n, "cmp": 2 * n - 1 + steps, "select": 2 * n - 1 + steps, "lut": n + steps, "shift": n + 2,
        "div": 0, "mul": 0, "sqrt": 0,
    }  # fmt: skip
    assert counted("softmax_log", n) == {
        "addsub": 3 * n + 2, "cmp": 3 * n - 1 + steps, "select": 3 * n - 1 + steps, "lut": 2 * n + 2 + steps,
        "shift": n + 2, "div": 0, "mul": 0, "sqrt": 0,
    }  # fmt: skip
    assert counted("softmax_log", n, fine_bits=0)["shift"] == 2
    assert count(program("softmax_recip", (n,))).by_class()["activation"] == n


def test_a_constant_mask_costs_nothing_and_a_live_one_selects():
    mask = np.tril(np.ones((4, 4), dtype=np.int64))
    causal, live = (count(program("softmax", (4, 4), mask=m)).by_primitive() for m in (mask, (1, 4)))
    assert causal["div"] == causal["lut"] == 10
    assert causal["addsub"] == 3 * 10 - 4
    assert causal["select"] == causal["cmp"] == 2 * 10 - 4
    assert live["div"] == live["lut"] == 16
    assert live["select"] == 2 * 16 - 4 + 2 * 16 + 4, "codes, terms, and the sum of a row"
    assert live["cmp"] == 2 * 16 - 4 + 4
    hidden = {op: counted(op, 4, mask=(4,))["select"] - counted(op, 4)["select"] for op in SOFTMAXES}
    assert hidden == {"softmax": 9, "softmax_recip": 9, "softmax_shift": 8, "softmax_log": 13}


def test_shift_and_log_are_multiplication_free_and_the_others_are_not():
    for length in (4, 65):
        for op in ("softmax_shift", "softmax_log"):
            report = strict_multiplication_free(program(op, (length,)))
            assert not report.multiplications()
            assert len(report.tables) == {"softmax_shift": 2, "softmax_log": 5}[op]
    with pytest.raises(
        CountError, match=r"^node `node` \(softmax\) of layer `layer` executes 65 div for each sample; "
    ):
        strict_multiplication_free(program("softmax", (65,)))
    with pytest.raises(
        CountError, match=r"^node `node` \(softmax_recip\) of layer `layer` executes 1 div for each sample; "
    ):
        strict_multiplication_free(program("softmax_recip", (65,)))


def test_the_table_of_ln_2_is_a_step_function_and_no_product():
    """j ln 2 lies on a straight line, but j is found by a search: it is ln of the leading one of the sum."""
    made = program("softmax_log", (4,))
    steps = np.diff(made.tensors["lnk_table"].codes)
    assert len(set(steps.tolist())) == 1
    assert not any(table.gain for table in count(made).tables)


X, TABLE = activation("x", (2, 4), Format(8), Scale.of(-4)), constant("exp_table", np.array([8, 3, 0]))
THRESHOLDS = constant("thresholds", np.array([2, 3, 6, 12, 23, 46]))
GOOD = {"softmax": {"fraction": 2}, "softmax_recip": {"fraction": 2, "reciprocal": 9}, "softmax_shift": {"fraction": 2}}


def infer(op, x=X, table=TABLE, mask=None, others=(), **attributes):
    tensors = [x, table, *others, *([] if mask is None else [mask])]
    return ops.get(op).infer(tensors, ops.get(op).derived(tensors, GOOD[op] | attributes))


BAD = [
    (ShapeError, r"x of op `softmax` must have an axis of at least 1 behind the batch, not \(1,\)", {"x": activation("x", (), Format(8))}),
    (FormatError, "x of op `softmax` must have one scale; requantize first", {"x": activation("x", (2,), Format(8), Scale((0, 1), 1))}),
    (ShapeError, r"`exp_table` of op `softmax` must be a constant with one axis of at least 1, not \(1, 4\)", {"table": activation("t", (4,), Format(8))}),
    (FormatError, "`exp_table` of op `softmax` must start with a power of two of at least 2, not 6", {"table": constant("t", [6, 3])}),
    (FormatError, "`exp_table` of op `softmax` must never rise and have no negative entry", {"table": constant("t", [8, 3, 4])}),
    (FormatError, "`exp_table` of op `softmax` must never rise and have no negative entry", {"table": constant("t", [8, -1])}),
    (FormatError, r"`fraction` of op `softmax` must be in 1\.\.31, not 0", {"fraction": 0}),
    (FormatError, "`clamp` of op `softmax` must not be none: an index may pass the end of the table", {"clamp": "none"}),
    (FormatError, r"the mask of op `softmax` must hold 0 and 1, not 0\.\.2", {"mask": constant("m", [0, 2, 1, 1])}),
    (ShapeError, r"the constant mask of op `softmax` must have the shape \(4,\) or \(1, 4\) or \(2, 4\), not \(3, 4\)", {"mask": constant("m", np.ones((3, 4)).astype(int))}),
    (FormatError, "row 1 of the mask of op `softmax` must allow at least one entry", {"mask": constant("m", [[1, 0, 0, 0], [0] * 4])}),
    (ShapeError, r"the mask \(1, 3, 4\) of op `softmax` must broadcast against x \(1, 2, 4\)", {"mask": activation("m", (3, 4), Format(1, False))}),
    (ShapeError, r"the mask \(1, 1, 1\) of op `softmax` must have an entry for each of the 4 of a row", {"mask": activation("m", (1, 1), Format(1, False))}),
    (FormatError, "`hidden` of op `softmax` must be -128, the least code of x, not -127", {"mask": activation("m", (2, 4), Format(1, False)), "hidden": -127}),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "changes"), BAD)
def test_refusals(error, message, changes):
    with pytest.raises(error, match=f"^{message}$"):
        infer("softmax", **changes)


def test_refusals_of_the_other_forms():
    with pytest.raises(FormatError, match=r"^`reciprocal` of op `softmax_recip` must be in 3\.\.61, not 2$"):
        infer("softmax_recip", reciprocal=2)
    with pytest.raises(FormatError, match=r"^the sum 2\^3 of op `softmax_shift` must reach more than 3 thresholds, "):
        infer("softmax_shift", others=[THRESHOLDS], fraction=3)
    with pytest.raises(FormatError, match=r"^`thresholds` of op `softmax_shift` must ascend$"):
        infer("softmax_shift", others=[constant("t", [3, 3])])
    infer("softmax_shift", others=[THRESHOLDS])


LOG = {"thresholds": (16, 32, 64), "lnk_table": (0, 11, 22, 33), "lnm_table": (0, 6, 11), "out_table": (4, 2, 1, 0)}
BAD_LOG = [
    ("thresholds", (16, 33, 64), r"`thresholds` of op `softmax_log` must be the powers of two from 2\^4, twice the first term"),
    ("thresholds", (16,), "`thresholds` and `lnk_table` of op `softmax_log` must have an entry for each length of a row sum"),
    ("lnk_table", (0, 11, 22), "`thresholds` and `lnk_table` of op `softmax_log` must have an entry for each length of a row sum"),
    ("lnm_table", (0, 6, 7, 11), r"`lnm_table` of op `softmax_log` must have 2\^M \+ 1 entries, 0 < M < 3, not 4"),
    ("lnm_table", (0, 11), r"`lnm_table` of op `softmax_log` must have 2\^M \+ 1 entries, 0 < M < 3, not 2"),
    ("lnm_table", (0, 11, 6), "`lnk_table` and `lnm_table` of op `softmax_log` must have no negative entry, and lnm must not fall"),
    ("out_table", (4, 2, 3), "`out_table` of op `softmax_log` must never rise and have no negative entry"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "codes", "message"), BAD_LOG)
def test_refusals_of_the_form_in_the_log_domain(name, codes, message):
    def derived(tables):
        tensors = [X, TABLE, *(constant(key, np.array(value)) for key, value in tables.items())]
        return ops.get("softmax_log").derived(tensors, {"fraction": 2, "fine_bits": 1})

    derived(LOG)
    with pytest.raises(FormatError, match=f"^{message}$"):
        derived(LOG | {name: codes})


def test_a_sum_past_63_bits_is_refused():
    with pytest.raises(MfsimError, match=r"^the row sum of a softmax needs 64 bits for "):
        infer("softmax", x=activation("x", (4,), Format(8)), table=constant("t", [2**61, 0]))


def test_ranges_along_an_axis_are_merged():
    x = dataclasses.replace(X, range=Range((0, 5), (1, 9), 1))
    assert infer("softmax", x=x).words["distance"] == Format(4, False)


def test_the_rows_of_the_conformance_suite_sit_on_thresholds():
    """With `>` in place of `>=`, the same as thresholds that are one greater, they give other codes."""
    (case,) = (c for c in cases_of("softmax_shift") if c.name == "sums-on-thresholds")
    _, table, thresholds = case.inputs
    samples = np.array([sample[0] for sample in case.extra]).astype(object)
    greater = thresholds.codes.astype(object) + 1
    found = [
        ops.get("softmax_shift").reference([samples, table.codes.astype(object), steps], case.attributes)[0]
        for steps in (thresholds.codes.astype(object), greater)
    ]
    rows_off = (found[0] != found[1]).any(axis=(1, 2))
    sums = table.codes[samples.max(-1, keepdims=True).astype(int) - samples.astype(int)].sum(-1)[:, 0]
    on = np.isin(sums, thresholds.codes)
    assert on.sum() >= 6
    assert (rows_off == on).all()
