"""Error figures on arrays whose figures are known."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from mfsim.analysis import compare, layer_errors, layer_outputs
from mfsim.analysis.error import ErrorSums, LayerErrors
from mfsim.errors import DataError, ModelError, ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from tests.analysis.programs import residual


def test_known_figures():
    figures = compare(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[3.0, 4.5], [0.0, 0.0]]))
    assert (figures.count, figures.exact, figures.max_abs, figures.mean_abs) == (4, False, 0.5, 0.125)
    assert figures.sqnr_db == pytest.approx(20.0, abs=1e-12), "25 over 0.25"
    assert figures.cosine == pytest.approx(27 / (5 * math.sqrt(29.25)), abs=1e-12)
    assert figures.top1 == 1.0


def test_equal_values_are_exact_and_their_sqnr_is_null_in_json():
    figures = compare(np.array([1.0, -2.0]), np.array([1.0, -2.0]))
    assert (figures.exact, figures.sqnr_db, figures.max_abs) == (True, None, 0.0)
    assert figures.cosine == pytest.approx(1.0, abs=1e-15)


def test_zero_reference_has_neither_sqnr_nor_cosine():
    figures = compare(np.zeros(3), np.array([0.0, 1.0, 0.0]))
    assert (figures.exact, figures.sqnr_db, figures.cosine, figures.max_abs) == (False, None, None, 1.0)


def test_zeros_on_both_sides_are_exact():
    figures = compare(np.zeros(3), np.zeros(3))
    assert (figures.exact, figures.sqnr_db, figures.cosine) == (True, None, None)


def test_opposite_values_have_a_negative_cosine_and_sqnr():
    figures = compare(np.array([1.0, 2.0]), np.array([-1.0, -2.0]))
    assert figures.cosine == pytest.approx(-1.0, abs=1e-15)
    assert figures.sqnr_db == pytest.approx(-20 * math.log10(2), abs=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_an_error(bad):
    with pytest.raises(DataError, match=r"^the reference of tensor `t` must be finite, and 1 values are not$"):
        compare(np.array([1.0, bad]), np.zeros(2), "tensor `t`")
    with pytest.raises(DataError, match=r"^tensor `t` must be finite, and 1 values are not$"):
        compare(np.zeros(2), np.array([1.0, bad]), "tensor `t`")


def test_shapes_must_agree():
    with pytest.raises(ShapeError, match=r"^the values must have the shape \(2, 3\) of the reference, not \(3, 2\)$"):
        compare(np.zeros((2, 3)), np.zeros((3, 2)))


def test_top1_agreement_is_only_for_rows_of_scores():
    scores = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.0, 0.2, 0.1], [0.3, 0.2, 0.1]])
    moved = scores.copy()
    moved[3] = [0.1, 0.2, 0.3]
    assert compare(scores, moved).top1 == 0.75
    assert compare(np.ones((2, 3, 4)), np.ones((2, 3, 4))).top1 is None
    assert compare(np.ones((5, 1)), np.ones((5, 1))).top1 is None
    assert compare(np.ones(4), np.ones(4)).top1 is None


def test_top1_agreement_needs_scores_in_every_batch():
    sums = ErrorSums()
    sums.add(np.ones((2, 3, 4)), np.ones((2, 3, 4)))
    sums.add(np.ones((2, 3)), np.ones((2, 3)))
    assert sums.figures().top1 is None


def test_batches_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(60, 10))
    values = reference + rng.normal(size=(60, 10)) / 50
    sums = ErrorSums()
    for start in range(0, 60, 7):
        sums.add(reference[start : start + 7], values[start : start + 7])
    whole, parts = compare(reference, values), sums.figures()
    assert (parts.count, parts.max_abs, parts.top1) == (whole.count, whole.max_abs, whole.top1)
    for name in ("mean_abs", "sqnr_db", "cosine"):  # sums in another order
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_empty_batch_has_no_figures():
    figures = compare(np.zeros((0, 3)), np.zeros((0, 3)))
    assert (figures.count, figures.sqnr_db, figures.cosine, figures.top1) == (0, None, None, None)


def test_scale_of_each_channel_is_used():
    builder = ProgramBuilder()
    tensor = Tensor("x", (1, 2, 2), Format(4), Scale((-1, 3), 1), Range.of(-8, 7))
    program = builder.finish([builder.node("relu", [builder.input_tensor(tensor)], name="r")])
    (row,) = layer_errors(
        program, {"r": np.array([[[0.5, 1.0], [24.0, 32.0]]])}, {"r": np.array([[[1, 2], [3, 4]]])}
    ).rows
    assert row.exact


def test_layer_errors_name_layer_and_op_in_program_order():
    program = residual()
    outputs = layer_outputs(program)
    assert outputs == {"block.quant": "quantizer", "block.wht": "transform", "block": "positive"}
    codes = {name: np.ones((2, 16), dtype=np.int64) for name in outputs.values()}
    grids = {name: 2.0 ** program.tensors[name].scale.exponent for name in codes}
    references = {name: np.full((2, 16), grids[name]) for name in reversed(codes)}
    references["transform"] = references["transform"] * 1.5
    report = layer_errors(program, references, codes)
    assert [(row.layer, row.tensor, row.op, row.exact) for row in report.rows] == [
        ("block.quant", "quantizer", "requantize", True),
        ("block.wht", "transform", "wht", False),
        ("block", "positive", "relu", True),
    ]
    assert report.rows[1].max_abs == grids["transform"] / 2
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert content["errors"][0]["sqnr_db"] is None


def test_reference_without_codes_or_tensor_is_an_error():
    errors = LayerErrors(residual())
    with pytest.raises(ModelError, match=r"^the program has no tensor `transform2`; did you mean `transform`\?$"):
        errors.add({"transform2": np.zeros(1)}, {})
    with pytest.raises(ModelError, match=r"^tensor `transform` has a reference but no simulated codes$"):
        errors.add({"transform": np.zeros(1)}, {})


def test_large_values_do_not_overflow_the_figures():
    builder = ProgramBuilder()
    x = builder.input("x", (2,), Format(60), Scale.of(300))
    program = builder.finish([builder.node("relu", [x], name="r", layer="r")])
    codes = np.full((1, 2), 2**58, dtype=np.int64)
    reference = np.ldexp(np.full((1, 2), float(2**58)), 300) * 1.01
    (row,) = layer_errors(program, {"r": reference}, {"r": codes}).rows
    assert row.sqnr_db == pytest.approx(20 * math.log10(1.01 / 0.01), rel=1e-9)
