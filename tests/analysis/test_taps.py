"""Which taps of windows count: all that are executed, or those inside the image."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import mfsim
from mfsim import ops
from mfsim.analysis import strict_multiplication_free
from mfsim.errors import CountError
from mfsim.op_counter import Input, count_module
from mfsim.ops.op import TAPS
from tests.analysis.programs import one
from tests.conformance import counting
from tests.conformance.instance import program_of
from tests.ops.cases import cases_of

PREPARED = {"mf_conv2d": {"sign", "abs", "shift"}, "min_conv2d": {"abs", "shift"}, "adder_conv2d": {"shift"}}
"""Primitives that prepare each code of x once, whatever the windows are."""
WINDOWED = [op for op in ops.REGISTRY.values() if op.windowed]


def nonzero(counts):
    return {name: number for name, number in counts.items() if number}


def counted(op, attributes, shape, constants=()):
    program = one(op, shape, attributes, constants)
    return [nonzero(mfsim.count(program, taps=taps).by_primitive()) for taps in TAPS]


def test_an_image_of_2_x_3_under_windows_of_3_x_3_padded_by_one():
    """Six windows: those at the corners hold 4 codes of the image, the two in the middle 6: 28 of 54 taps."""
    pads = {"pads": (1, 1, 1, 1)}
    pool = {"kernel": (3, 3), **pads}
    assert counted("max_pool2d", pool, (2, 2, 3)) == [
        {"cmp": 2 * (54 - 6), "select": 2 * (54 - 6)},
        {"cmp": 2 * (28 - 6), "select": 2 * (28 - 6)},
    ]
    assert counted("sum_pool2d", {"mean": 0, **pool}, (2, 2, 3)) == [{"addsub": 2 * (54 - 6)}, {"addsub": 2 * (28 - 6)}]
    weights = (np.full((5, 2, 3, 3), 2), 8, -7)
    bias = (np.ones(5, int), 8, -14)
    terms, inside, sums = 10 * 54, 10 * 28, 5 * 6
    assert counted("conv2d", pads, (2, 2, 3), [weights]) == [
        {"mul": terms, "addsub": terms - sums},
        {"mul": inside, "addsub": inside - sums},
    ]
    assert counted("conv2d", pads, (2, 2, 3), [weights, bias]) == [
        {"mul": terms, "addsub": terms},
        {"mul": inside, "addsub": inside},
    ]
    assert counted("mf_conv2d", pads, (2, 2, 3), [weights]) == [
        {"addsub": 2 * n - sums, "neg": 2 * sums, "sign": 12} for n in (terms, inside)
    ]
    assert counted("shift_conv2d", pads, (2, 2, 3), [weights, bias]) == [
        {"addsub": n, "shift": n} for n in (terms, inside)
    ]
    assert counted("adder_conv2d", pads, (2, 2, 3), [weights]) == [
        {"addsub": 2 * n - sums, "abs": n, "neg": sums} for n in (terms, inside)
    ]
    assert counted("min_conv2d", pads, (2, 2, 3), [weights]) == [
        {"addsub": n - sums, "abs": 12, "neg": n + sums, "cmp": n, "select": n} for n in (terms, inside)
    ]


def test_windows_that_are_all_padding_cost_nothing_but_what_is_executed():
    """A code between two columns of padding under 1 x 1 windows: one of three windows holds it."""
    weights = (np.full((1, 1, 1, 1), 3), 8, -7)
    attributes = {"pads": (0, 1, 0, 1)}
    assert counted("conv2d", attributes, (1, 1, 1), [weights]) == [{"mul": 3}, {"mul": 1}]
    assert counted("mf_conv2d", attributes, (1, 1, 1), [weights]) == [
        {"addsub": 3, "neg": 6, "sign": 1},
        {"addsub": 1, "neg": 2, "sign": 1},
    ]


def windows(x, kernel, attributes, plane):
    """Yield, of each window with codes inside x [C, H, W], its rows and columns and the taps that meet them."""
    (down, right), (step_y, step_x) = attributes["strides"], attributes.get("dilations", (1, 1))
    top, left, _, _ = attributes["pads"]
    for row, column in np.ndindex(*plane):
        met = []
        for start, step, taps, size in (
            (row * down - top, step_y, kernel[0], x.shape[1]),
            (column * right - left, step_x, kernel[1], x.shape[2]),
        ):
            places = start + step * np.arange(taps)
            inside = (places >= 0) & (places < size)
            met.append((places[inside], np.flatnonzero(inside)))
        if all(places.size for places, _ in met):
            yield met


def executed(op, node, inputs, outputs):
    """Return what the plain kernel executes window by window, each without padding and cut to its taps inside."""
    counter = counting.Counter()
    module = counting.rebuild(op.name, counter)
    x, *others = inputs
    kernel = node.attributes.get("kernel") or others[0].shape[2:]
    for (rows, taps_y), (columns, taps_x) in windows(x[0], kernel, node.attributes, outputs[0].shape[2:]):
        attributes = {**node.attributes, "pads": (0,) * 4, "strides": (1, 1), "dilations": (1, 1)}
        cut = [np.ascontiguousarray(x[:, :, rows][:, :, :, columns])]
        if others:
            cut += [np.ascontiguousarray(others[0][:, :, taps_y][:, :, :, taps_x]), *others[1:]]
        else:
            attributes["kernel"] = (taps_y.size, taps_x.size)
        getattr(module, f"run_{op.name}")(
            [counting.codes(cut[0]), *cut[1:]], attributes, [np.empty((1, outputs[0].shape[1], 1, 1), object)]
        )
    return {name: number for name, number in counter.counts.items() if name not in PREPARED.get(op.name, ())}


CASES = [pytest.param(op, case, id=f"{op.name}-{case.name}") for op in WINDOWED for case in cases_of(op.name)]


@pytest.mark.parametrize(("op", "case"), CASES)
def test_valid_taps_are_what_windows_without_their_padding_execute(op, case):
    program = program_of(op, case)
    (node,) = program.nodes
    inputs, outputs = program.inputs_of(node), program.outputs_of(node)
    arrays = [np.array(t.codes) if t.is_constant else np.zeros((1, *t.shape[1:]), np.int64) for t in inputs]
    stated = collections.Counter()
    for row in op.rows(node, inputs, outputs, "valid"):
        if not row.offline and row.primitive not in PREPARED.get(op.name, ()):
            stated[row.primitive] += row.count
    assert dict(stated) == executed(op, node, arrays, outputs)


def test_every_op_with_padding_takes_the_choice():
    assert {op.name for op in ops.REGISTRY.values() if any(a.name == "strides" for a in op.attributes)} == {
        op.name for op in WINDOWED
    }


def test_a_float_module_takes_the_choice():
    from torch import nn

    def convolution():
        return nn.Conv2d(1, 1, 3, padding=1, bias=False)

    found = [count_module(convolution, [Input((1, 2, 3))], taps=taps).report for taps in TAPS]
    assert [report.by_primitive()["mul"] for report in found] == [54, 28]
    assert [report.taps for report in found] == list(TAPS)


def test_the_report_says_which_taps_it_counts():
    program = one("max_pool2d", (1, 4, 4), {"kernel": (2, 2)})
    assert mfsim.count(program).to_json()["taps"] == "executed"
    assert mfsim.count(program, taps="valid").to_json()["taps"] == "valid"


def test_unknown_taps():
    program = one("max_pool2d", (1, 4, 4), {"kernel": (2, 2)})
    message = r"^`taps` must be one of executed, valid, not 'valud'; did you mean `valid`\?$"
    with pytest.raises(CountError, match=message):
        mfsim.count(program, taps="valud")
    with pytest.raises(CountError, match=message):
        count_module(None, [], taps="valud")


def test_strictness_wants_the_taps_executed():
    """A convolution whose only window with a tap inside is gone would execute no valid multiplication."""
    with pytest.raises(
        CountError,
        match=r"^only a count of the taps executed shows that nothing multiplies, not one of the taps valid$",
    ):
        strict_multiplication_free(mfsim.count(one("wht", (8,)), taps="valid"))
