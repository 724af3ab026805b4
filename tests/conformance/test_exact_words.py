"""Inner words: every value of the plain kernels fits the word that was proved for it, and a word of one bit less would not do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim import ops
from mfsim.ir.formats import Format
from mfsim.ops.bounds import Bounds
from mfsim.simulate.exact_words import instrumented
from tests.bits import assert_bit_equal
from tests.conformance.instance import expected_of, inputs_of, program_of
from tests.conformance.samples import samples
from tests.ops.cases import cases_of

MOST = 48
"""Samples of a case."""

OPS = [op for op in ops.REGISTRY.values() if any(program_of(op, case).nodes[0].words for case in cases_of(op.name))]

ROUNDED = "a bound in real numbers, with the errors of rounded cosines"
NARROWER = {
    ("dft_alpha_beta", "estimate"): ROUNDED,
    ("dft_alpha_beta", "pair"): ROUNDED,
    ("dft_alpha_beta", "product"): ROUNDED,
    ("dft_magnitude", "pair"): ROUNDED,
    ("dft_magnitude", "product"): ROUNDED,
    ("dft_magnitude", "radicand"): ROUNDED,
    ("dft_magnitude", "root"): ROUNDED,
    ("dft_magnitude", "square"): ROUNDED,
    ("filterbank", "pair"): ROUNDED,
    ("filterbank", "product"): ROUNDED,
    ("softmax_shift", "exponent"): "the kernel does not count the thresholds that every sum reaches",
}
"""Words that no case fills, and why."""
BEFOREHAND = {("min_conv2d", "aligned_w"): "weights are constant, and only their magnitudes are made"}
"""Words that no value of the kernel has."""


def some(case):
    """Return the codes of at most `MOST` samples of `case`, the first and the last among them."""
    arrays = samples(case, 12)
    chosen = np.unique(np.linspace(0, len(arrays[0]) - 1, MOST).astype(int))
    return [array[chosen] for array in arrays]


def observed(op, case):
    """Return the words of a case, and the least and greatest value that each had."""
    program, arrays, seen = program_of(op, case), some(case), {}
    (node,) = program.nodes

    def check_of(word):
        def check(value):
            lo, hi = seen.get(word, (value, value))
            seen[word] = min(lo, value), max(hi, value)

        return check if word in node.words else None

    inputs = [np.asarray(codes).astype(object) for codes in inputs_of(case, arrays)]
    outputs = [np.empty((len(arrays[0]), *t.shape[1:]), object) for t in program.outputs_of(node)]
    instrumented(op.name, check_of)(inputs, node.attributes, outputs)
    for output, codes in zip(outputs, expected_of(op, case, node, arrays), strict=True):
        assert_bit_equal(output.astype(np.int64), codes, "exact form")
    return node.words, seen


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_words_hold_every_value_and_none_could_be_narrower(op):
    declared, held, filled = set(), set(), set()
    for case in cases_of(op.name):
        words, seen = observed(op, case)
        declared |= set(words)
        held |= set(seen)
        for word, (lo, hi) in seen.items():
            format_ = words[word]
            assert format_.holds(int(lo), int(hi)), f"word {word} of case {case.name} is {format_}, values {lo}..{hi}"
            if format_.bits == 1 or not Format(format_.bits - 1, format_.signed).holds(int(lo), int(hi)):
                filled.add(word)
    assert {(op.name, word) for word in declared - held} == {key for key in BEFOREHAND if key[0] == op.name}
    assert {(op.name, word) for word in held - filled} == {key for key in NARROWER if key[0] == op.name}


@pytest.mark.parametrize("op", [op for op in ops.REGISTRY.values() if op not in OPS], ids=lambda op: op.name)
def test_ops_without_inner_words_hold_none(op):
    assert op.held == {}


def overflows(op):
    """Return the words that some case of `op` leaves."""
    found = [observed(op, case) for case in cases_of(op.name)]
    return {word for words, seen in found for word in seen if not words[word].holds(*map(int, seen[word]))}


SUMS = {
    "mf_matmul": {"acc", "acc_x", "acc_w"},
    "mf_conv2d": {"acc", "acc_x", "acc_w"},
    **{f"{kind}{shape}": {"acc"} for kind in ("", "adder_", "min_", "shift_") for shape in ("matmul", "conv2d")},
}


@pytest.mark.parametrize("name", SUMS)
def test_words_of_whole_sums_do_not_hold_the_partial_ones(name, monkeypatch):
    op = ops.get(name)
    assert overflows(op) == set()
    monkeypatch.setattr(Bounds, "partial", property(lambda self: (int(min(self.lo)), int(max(self.hi)))))
    assert overflows(op) == SUMS[name]


def test_values_that_are_held_nowhere_are_an_error(monkeypatch):
    abs_ = ops.get("abs")
    monkeypatch.setitem(ops.REGISTRY, "abs", replace(abs_, held={"plain.z": "acc", "plain.absolute": "acc"}))
    with pytest.raises(LookupError, match=r"^`held` of op `abs` names plain\.z, which its kernel does not have$"):
        instrumented("abs", lambda word: print)
