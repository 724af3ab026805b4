"""What the mapping counts is what exact arithmetic on such arrays takes: a slow array does it and is counted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mfsim import ops
from mfsim.cim import CimArray, map_program
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ops.op import objects
from tests.bits import assert_bit_equal
from tests.cim.naive import Machine, planes_of_sign, planes_of_word

CASES = list(
    itertools.product(("ef", "abs"), (0, 1), (True, False), ("unsigned", "signed"), ((1, 1), (2, 3)), (True, False))
)


def node_of(op, x_word, w, w_word, attributes, x_exponent=-5, w_exponent=-3):
    """Return a program of one product with a bias on the finer grid, or the product's for a dense one."""
    builder = ProgramBuilder()
    x = builder.input("x", (2, w.shape[0]), x_word, Scale.of(x_exponent))
    weights = builder.constant("w", w, w_word, Scale.of(w_exponent))
    grid = min(x_exponent, w_exponent) if op.startswith("mf_") else x_exponent + w_exponent
    bias = builder.constant("b", np.arange(w.shape[1]) - 1, Format(8), Scale.of(grid))
    return builder.finish([builder.node(op, [x, weights, bias], attributes)])


def reference(program, codes):
    """Return what the definition of the only node gives."""
    (node,) = program.nodes
    inputs = [objects(codes if t.codes is None else t.codes) for t in program.inputs_of(node)]
    return ops.get(node.op).reference(inputs, node.attributes)[0]


def codes_of(word, shape, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(word.lo, word.hi, shape, endpoint=True)
    codes.reshape(-1)[:3] = word.lo, 0, word.hi
    return codes


def check(program, report, machine, y, codes):
    (node,) = report.nodes
    assert_bit_equal(y.astype(np.int64), reference(program, codes)[0].astype(np.int64))
    assert (machine.did["activations"], machine.did["conversions"]) == (node.activations, node.conversions)
    assert machine.did["adds"] == node.adds
    most = max(part.levels for part in report.parts)
    assert machine.greatest - machine.least <= most - 1


@pytest.mark.parametrize(("form", "zero", "x_signed", "lines", "digits", "zeros"), CASES)
def test_mf_product(form, zero, x_signed, lines, digits, zeros):
    x_word, w_word = Format(5, x_signed), Format(4)
    w = codes_of(w_word, (7, 3), 1)
    w = w if zeros else np.where(w == 0, 5, w)
    array = CimArray(rows=3, columns=4, cell_bits=digits[0], input_bits=digits[1], lines=lines)
    program = node_of("mf_matmul", x_word, w, w_word, {"form": form, "sign_zero": zero})
    codes = codes_of(x_word, (1, 2, 7), 2)
    x = codes[0]

    def possible(values):
        return {int(s) or zero for s in np.sign(values)}

    magnitude = form == "abs"
    x_bound = Format.of_range(0, max(-x_word.lo, x_word.hi)) if magnitude else x_word
    w_bound = Format.of_range(0, int(abs(w).max())) if magnitude else w_word
    stored = planes_of_word(abs(w) if magnitude else w, w_bound, digits[0])
    signs, one_bit = planes_of_sign(x, zero, possible(np.arange(x_word.lo, x_word.hi + 1)), lines == "signed")
    machine = Machine(array)
    w_part = machine.product(signs, stored, constants=(abs(w) if magnitude else w).sum(axis=0) if one_bit else None)
    driven = planes_of_word(abs(x) if magnitude else x, x_bound, digits[1], lines == "signed")
    stored, one_bit = planes_of_sign(w, zero, possible(w.reshape(-1)))
    x_part = machine.product(driven, stored, corrected_inputs=one_bit)
    machine.did["adds"] += 2 * w_part.size  # join and bias
    y = x_part + w_part * 2**2 + np.arange(3) - 1
    check(program, map_program(program, array), machine, y, codes)


@pytest.mark.parametrize(
    ("x_signed", "lines", "digits"),
    list(itertools.product((True, False), ("unsigned", "signed"), ((1, 1), (2, 3), (4, 2)))),
)
def test_dense_product(x_signed, lines, digits):
    x_word, w_word = Format(6, x_signed), Format(5)
    w, codes = codes_of(w_word, (8, 3), 3), codes_of(x_word, (1, 2, 8), 4)
    array = CimArray(
        rows=6, columns=10, sum_along="columns", halves=2, cell_bits=digits[0], input_bits=digits[1], lines=lines
    )
    program = node_of("matmul", x_word, w, w_word, {})
    machine = Machine(array)
    driven = planes_of_word(codes[0], x_word, digits[1], lines == "signed")
    y = machine.product(driven, planes_of_word(w, w_word, digits[0])) + np.arange(3) - 1
    machine.did["adds"] += y.size
    check(program, map_program(program, array), machine, y, codes)


@pytest.mark.parametrize(
    ("n", "lines", "signed"), list(itertools.product((2, 4, 16), ("unsigned", "signed"), (True, False)))
)
def test_transform(n, lines, signed):
    word, m = Format(5, signed), min(n, 4)
    builder = ProgramBuilder()
    program = builder.finish([builder.node("wht", [builder.input("x", (3, n), word)])])
    codes = codes_of(word, (1, 3, n), 5)
    array = CimArray(rows=5, columns=6, stores="wht", lines=lines)
    machine = Machine(array)
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(m)] for i in range(m)])
    blocks = codes.reshape(-1, m)
    y = machine.product(planes_of_word(blocks, word, 1, lines == "signed"), [(1, matrix)]).reshape(3, n // m, m)
    half = 1
    while half < n // m:
        pairs = y.reshape(3, -1, 2, half, m)
        y = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(3, n // m, m)
        machine.did["adds"] += y.size
        half *= 2
    check(program, map_program(program, array), machine, y.reshape(3, n), codes)
