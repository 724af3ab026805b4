"""Every op: the operand widths that its count states hold what the plain kernel meets, and are not wider than words are."""

from __future__ import annotations

import collections
from dataclasses import replace

import numpy as np
import pytest

from mfsim import ops
from tests.conformance import counting
from tests.conformance.instance import inputs_of, program_of, run_kernel
from tests.conformance.samples import samples
from tests.conformance.widths import as_rows, misfits, needed
from tests.ops.cases import cases_of

BOUNDED = {
    "dct", "dft_alpha_beta", "dft_magnitude", "filterbank",
    "layer_norm", "layer_norm_recip", "rms_norm", "rms_norm_recip", "shift_norm_l1", "shift_norm_l2",
    "softmax_log",
}  # fmt: skip
"""Ops whose inner words are proved bounds that no codes attain: widths may be more than codes need."""

UNATTAINED = {
    "csd_gain": {("neg", 0, 0), ("addsub", 0, 1)},  # all sums of a row of digits are stated as the accumulator
    "mf_conv2d": {
        ("shift", 1, 0)
    },  # accumulators are shifted one at a time; the other is stated as wide as its own word
    "mf_matmul": {
        ("shift", 1, 0),
        ("addsub", 2, 0),
        ("addsub", 2, 1),
    },  # likewise; the sum of both is wider than either part
    "rescale": {
        ("shift", 1, 0),
        ("or", 1, 0),
        ("addsub", 1, 0),
        ("shift", 2, 0),
        ("or", 2, 0),
    },  # one product word for all channels
    "softmax_shift": {
        ("addsub", 2, 1),
        ("addsub", 3, 1),
    },  # a sum of two shifts; the rounding constant of the largest sum
    "tanh_l1_shift": {("addsub", 2, 1)},  # likewise
    "wht": {("addsub", 4, 1)},  # only codes that agree in sign with a row of the matrix reach the last stage's words
}
"""Widths of other ops, as (primitive, which of its rows, which operand), that too few cases need to the last bit, and why."""

SHARE = 5
"""An operand needs its whole width in one case of so many, but a sum, whose word holds sums in any order, in one case."""


def telling(op, case, node, program):
    """Return one batch of one sample for each sample of a case at which some output is least or greatest, and a few more."""
    arrays = samples(case)
    count = len(arrays[0])
    places = {0, count - 1, *range(min(count, 2))}
    for output in run_kernel(op, node, program, inputs_of(case, arrays), count):
        flat = output.reshape(count, -1)
        for codes in (flat.min(axis=1), flat.max(axis=1), *flat.T[:2]):
            places |= {int(codes.argmin()), int(codes.argmax())}
    return [[array[k : k + 1] for array in arrays] for k in sorted(places)]


def executions(op, case, node, program):
    """Return what the counting form executes for each telling sample."""
    counter = counting.Counter()
    module = counting.rebuild(op.name, counter)
    runs = []
    for arrays in telling(op, case, node, program):
        counter.executions = []
        inputs = [
            np.array(tensor.codes) if tensor.is_constant else counting.codes(array)
            for tensor, array in zip(case.inputs, inputs_of(case, arrays), strict=True)
        ]
        outputs = [np.empty((1, *t.shape[1:]), dtype=object) for t in program.outputs_of(node)]
        getattr(module, f"run_{op.name}")(inputs, node.attributes, outputs)
        runs.append(counter.executions)
    return runs


def judged(op):
    """Return the executions of each case that fit no row, and every width with whether enough cases need all of it."""
    wrong, cases, needing = {}, collections.Counter(), collections.Counter()
    for case in cases_of(op.name):
        program = program_of(op, case)
        (node,) = program.nodes
        needs = needed(executions(op, case, node, program))
        rows = as_rows(op.count(node, program.inputs_of(node), program.outputs_of(node)))
        if found := misfits(needs, rows):
            wrong[case.name] = dict(found)
        seen = collections.Counter()
        for k, (primitive, widths, count) in enumerate(rows):
            for place in range(len(widths)):
                key = primitive, seen[primitive], place
                narrower = tuple(w - (p == place) for p, w in enumerate(widths))
                cases[key] += 1
                needing[key] += bool(misfits(needs, [*rows[:k], (primitive, narrower, count), *rows[k + 1 :]]))
            seen[primitive] += 1
    enough = {
        key: needing[key] * (cases[key] if (key[0], key[2]) == ("addsub", 0) else SHARE) >= cases[key] for key in cases
    }
    return wrong, enough


@pytest.mark.parametrize("op", ops.REGISTRY.values(), ids=lambda op: op.name)
def test_widths_hold_every_operand_and_no_bit_more(op):
    wrong, needs_all = judged(op)
    assert not wrong
    spare = {key for key, needs in needs_all.items() if not needs}
    if op.name in BOUNDED:
        assert spare
    else:
        assert spare == UNATTAINED.get(op.name, set())


def mutated(op, change):
    return replace(op, count=lambda *arguments: [change(row) for row in op.count(*arguments)])


def test_a_bit_more_or_less_is_noticed():
    for name in ("mf_matmul", "matmul", "adder_matmul", "requantize", "wht", "max_pool2d"):
        op = ops.get(name)
        for place in (0, -1):
            wider = mutated(
                op,
                lambda r, p=place: replace(
                    r, widths=tuple(w + (k == p % len(r.widths)) for k, w in enumerate(r.widths))
                ),
            )
            narrower = mutated(
                op,
                lambda r, p=place: replace(
                    r, widths=tuple(w - (k == p % len(r.widths)) for k, w in enumerate(r.widths))
                ),
            )
            assert {key for key, needs in judged(wider)[1].items() if not needs} > UNATTAINED.get(name, set()), name
            assert judged(narrower)[0], name


def test_accumulators_of_mf_products_that_are_swapped_are_noticed():
    op = ops.get("mf_matmul")

    def swapped(node, inputs, outputs):
        words = dict(node.words)
        if "acc_x" in words:
            words["acc_x"], words["acc_w"] = words["acc_w"], words["acc_x"]
        return op.count(replace(node, words=words), inputs, outputs)

    wrong, _ = judged(replace(op, count=swapped))
    assert "per-channel" in wrong


def test_executions_are_dealt_to_rows_along_augmenting_paths():
    """(3, 3) fits both rows; it has to leave the wider one to (4, 3), which is dealt out first or not."""
    needs = collections.Counter({("addsub", (3, 3)): 2, ("addsub", (4, 3)): 1, ("neg", (2,)): 1})
    rows = [("addsub", (3, 3), 2), ("addsub", (4, 4), 1), ("neg", (2,), 1)]
    assert not misfits(needs, rows)
    assert not misfits(needs, rows[::-1])
    assert misfits(needs, [("addsub", (3, 3), 3), ("neg", (2,), 1)]) == {("addsub", (4, 3)): 1}
    assert misfits(needs, [*rows[:2], ("neg", (1,), 1)]) == {("neg", (2,)): 1}
    assert misfits(needs, [("addsub", (4,), 2), ("neg", (2,), 1)]).total() == 1


def test_a_mode_that_is_no_sign_is_refused():
    counter = counting.Counter()
    for mode in (-1, 0, 1):
        counter.module.addsub(counting.Code(3), counting.Code(5), mode)
    with pytest.raises(TypeError, match=r"^the mode of addsub must be a sign, not 2$"):
        counter.module.addsub(counting.Code(3), counting.Code(5), counting.Code(2))
    with pytest.raises(TypeError, match=r"^the mode of negate must be a sign, not 3$"):
        counter.module.negate(counting.Code(3), 3)
