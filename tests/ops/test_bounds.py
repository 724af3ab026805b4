"""Proved bounds against every input of small words, and int64 against Python ints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfsim.ops.bounds import Operands, dense_bounds, mf_bounds, mf_parts

CODES = st.integers(-3, 3)
INTERVALS = st.tuples(CODES, CODES).map(sorted)
TERMS = st.lists(st.tuples(INTERVALS, INTERVALS), min_size=1, max_size=3)


def operands(terms):
    columns = np.array([[*x, *w] for x, w in terms], dtype=np.int64)
    return Operands(*(columns[:, k : k + 1] for k in range(4)))


def every(terms):
    """Yield the lists of x and of w of every input inside the intervals."""
    pairs = [itertools.product(range(x[0], x[1] + 1), range(w[0], w[1] + 1)) for x, w in terms]
    for chosen in itertools.product(*pairs):
        yield [x for x, _ in chosen], [w for _, w in chosen]


def check(bounds, sums, partial):
    assert (bounds.lo[0], bounds.hi[0]) == (min(sums), max(sums))
    assert bounds.partial == (min(partial), max(partial))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(TERMS, st.sampled_from(["ef", "abs"]), st.sampled_from([0, 1]), st.integers(0, 2), st.integers(0, 2))
def test_mf_bounds_are_attained(terms, form, zero, shift_x, shift_w):
    attributes = {"form": form, "sign_zero": zero, "shift_x": (shift_x,), "shift_w": (shift_w,)}
    sums, partial = [[], [], []], [[0], [0], [0]]
    for xs, ws in every(terms):
        a, b = mf_parts(np.array(xs), np.array(ws), form, zero)
        left, right = a << shift_x, b << shift_w
        for k, (term, steps) in enumerate(((a, a), (b, b), (left + right, np.concatenate([left, right])))):
            sums[k].append(term.sum())
            partial[k] += [steps[steps < 0].sum(), steps[steps > 0].sum()]
    for bounds, whole, part in zip(mf_bounds(operands(terms), attributes), sums, partial, strict=True):
        check(bounds, whole, part)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(TERMS)
def test_dense_bounds_are_attained(terms):
    sums, partial, single = [], [0], []
    for xs, ws in every(terms):
        term = np.array(xs) * np.array(ws)
        sums.append(term.sum())
        partial += [term[term < 0].sum(), term[term > 0].sum()]
        single += list(term)
    bounds = dense_bounds(operands(terms))
    check(bounds, sums, partial)
    assert bounds.term == (min(single), max(single))


@pytest.mark.parametrize("bits", [20, 45, 62])
def test_wide_words_are_bounded_exactly(bits):
    # x in -2^bits..2^bits - 1 and w = 2^bits - 1: the sums pass 2^53 and 2^63 without rounding or wrapping.
    end = np.full((7, 1), 2**bits - 1, dtype=np.int64)
    wide = Operands(-end - 1, end, end, end)
    attributes = {"form": "ef", "sign_zero": 0, "shift_x": (3,), "shift_w": (1,)}
    _, _, joined = mf_bounds(wide, attributes)
    top = 2**bits - 1
    assert (joined.lo[0], joined.hi[0]) == (-7 * (8 * 2**bits + 2 * top), 7 * (8 * top + 2 * top))
    dense = dense_bounds(wide)
    assert (dense.lo[0], dense.hi[0]) == (-7 * 2**bits * top, 7 * top * top)
    assert {type(v) for v in (*joined.lo, *dense.greatest)} == {int}


def test_int64_is_taken_where_nothing_can_pass_it():
    def kind(x, w, length, shift=0, product=False):
        one = np.ones((length, 1), dtype=np.int64)
        return Operands(-x * one, one, w * one, w * one).exact(shift, 0, product)[0]

    assert kind(2**60, 2**60, 1) is np.int64
    assert kind(2**61, 2**61, 1) is object
    assert kind(2**60, 2**60, 2) is object
    assert kind(1, 1, 1, shift=70) is object
    assert kind(2**31, 2**30, 1, product=True) is np.int64
    assert kind(2**31, 2**31, 1, product=True) is object
