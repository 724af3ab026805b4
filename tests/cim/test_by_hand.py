"""Counts of three layers on small arrays, derived on paper; the derivation stands in each test."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.cim import CimArray, map_program
from tests.analysis.programs import one

WEIGHTS = np.arange(1, 21).reshape(10, 2) * np.array([1, -1])
"""10 terms, 2 outputs, no code 0."""


def outside(report):
    """Return {(part, what, primitive): (count, bits)} of the operations outside the arrays."""
    return {(row.part, row.what, row.primitive): (row.count, row.bits) for row in report.outside}


def test_mf_linear_with_sign_bits():
    """10 terms, 2 outputs, x s4, w s6, sign(0) = +1, bias, on 4 rows x 6 columns of 1 bit, 2-bit converters.

    Both signs are one bit (x takes both, no weight is 0), so each part has one pass and a correction.
    10 terms on 4 rows: 3 tiles along the rows in both parts; 4 rows of bits: sums 0..4, 5 levels, 3 bits, 1 missing.

    Part sign(x) * w: w has 6 planes, 2 * 6 = 12 lines on 6 columns: 2 tiles across, 3 * 2 = 6 tiles of 24 cells.
      x's signs are one plane: 6 activations; 12 lines in each of 3 rows of tiles: 36 conversions.
      Cells used 10 * 12 = 120 of 144. Cycles: 1 step.
      Behind, for 2 outputs: tiles (3-1) * 6 planes * 2 = 24 adds of sums 0..10 (11 levels, 4 bits);
      planes (6-1) * 2 = 10 shifts and adds; correction with the stored constant: 2 shifts, 2 adds.
      Highest plane 2^5, so 4 + 5 + 1 sign = 10 bits, 11 after doubling.
    Part sign(w) * x: signs of w are 1 line of each output, and a column of ones: 3 lines, 1 tile across, 3 tiles.
      x has 4 planes: 4 steps, 3 * 4 = 12 activations; 3 tiles * 3 lines * 4 steps = 36 conversions.
      Cells used 10 * 3 = 30 of 72. Cycles: 4 steps.
      Behind: tiles (3-1) * 4 * 2 = 16 adds; planes (4-1) * 2 = 6; column of ones, once for both outputs:
      (3-1) * 4 = 8 adds and 3 shifts, 3 adds; correction 2 shifts, 2 adds. 4 + 3 + 1 = 8 bits, 9 after doubling.
    Join: 2 adds, and 2 shifts, for w lies on the coarser grid; bias: 2 adds.
    Steps of an output: 6 + 4 = 10; dense 6 * 4 = 24, on 12 lines: 6 tiles * 4 = 24 activations, 36 * 4 = 144 conversions.
    Adds: 24 + 10 + 2 + 16 + 6 + 8 + 3 + 2 + 2 + 2 = 75.
    """
    bias = (np.array([3, -3]), 8, -7)
    program = one("mf_matmul", (10,), {"sign_zero": 1}, [(WEIGHTS, 6, -5), bias], bits=4, exponent=-7)
    report = map_program(program, CimArray(rows=4, columns=6, converter_bits=2))
    w_part, x_part = report.parts
    assert (w_part.row_tiles, w_part.column_tiles, w_part.tiles, w_part.steps, w_part.passes) == (3, 2, 6, 6, 1)
    assert (w_part.activations, w_part.conversions, w_part.cycles, w_part.cycles_of_one_array) == (6, 36, 1, 6)
    assert (w_part.cells_used, w_part.cells, w_part.utilisation) == (120, 144, 120 / 144)
    assert (w_part.levels, w_part.lossless_bits, w_part.missing_bits) == (5, 3, 1)
    assert w_part.signs == "one pass, twice the sum minus a stored constant"
    assert (x_part.row_tiles, x_part.column_tiles, x_part.tiles, x_part.steps, x_part.passes) == (3, 1, 3, 4, 1)
    assert (x_part.activations, x_part.conversions, x_part.cycles, x_part.cycles_of_one_array) == (12, 36, 4, 12)
    assert (x_part.cells_used, x_part.cells) == (30, 72)
    assert x_part.signs == "one column, twice the sum minus that of a column of ones"
    w_name, x_name = "sign(x) * w", "sign(w) * x"
    assert outside(report) == {
        ("", "signs and magnitudes", "sign"): (10, 4),
        (w_name, "tiles", "addsub"): (24, 4),
        (w_name, "bit planes", "shift"): (10, 10),
        (w_name, "bit planes", "addsub"): (10, 10),
        (w_name, "sign correction", "shift"): (2, 11),
        (w_name, "sign correction", "addsub"): (2, 11),
        (x_name, "tiles", "addsub"): (16, 4),
        (x_name, "bit planes", "shift"): (6, 8),
        (x_name, "bit planes", "addsub"): (6, 8),
        (x_name, "column of ones", "addsub"): (3, 8),
        (x_name, "column of ones, tiles", "addsub"): (8, 4),
        (x_name, "column of ones", "shift"): (3, 8),
        (x_name, "sign correction", "shift"): (2, 9),
        (x_name, "sign correction", "addsub"): (2, 9),
        ("", "join of the parts", "shift"): (2, program.tensors["node"].format.bits),
        ("", "join of the parts", "addsub"): (2, program.tensors["node"].format.bits),
        ("", "bias", "addsub"): (2, program.tensors["node"].format.bits),
    }
    (node,) = report.nodes
    assert (node.steps, node.dense_steps) == (10, 24)
    assert (node.tiles, node.activations, node.conversions, node.adds, node.cycles) == (9, 18, 72, 75, 5)
    assert (node.dense_activations, node.dense_conversions) == (24, 144)
    assert (node.lossless_bits, node.missing_bits) == (3, 1)


def test_mf_convolution_with_ternary_signs():
    """6 channels in 2 groups on a plane of 5 x 5, kernel 3 x 3, 4 outputs, stride 2, no padding: 2 x 2 positions.

    x s8, w s8 with a code 0, sign(0) = 0; the macro has 8 rows and 62 columns, sums along 31, 5-bit converter.
    3 channels of a group * 9 taps = 27 terms: 1 tile along the columns. 4 input vectors, 2 outputs in each group.

    Part sign(x) * w: 2 outputs * 8 planes = 16 lines on 8 rows: 2 tiles for each group, 4 in all.
      Signs -1, 0, 1: two passes. 4 vectors * 4 tiles * 2 = 32 activations;
      4 vectors * 2 groups * 16 lines * 2 passes = 256 conversions. Cells 27 * 16 * 2 = 864 of 4 * 31 * 8 = 992.
      Cycles: 4 vectors * 2 passes * 8 rows that share a converter * 2 halves = 128.
      Behind, for 4 outputs * 4 positions = 16: planes (8-1) * 2 passes * 16 = 224; passes 16.
    Part sign(w) * x: two lines for each output: 4 lines, 1 tile for each group, 2 in all. 8 planes of x:
      4 * 2 * 8 = 64 activations; 4 * 2 * 4 * 8 = 256 conversions. Cells 27 * 4 * 2 = 216 of 496.
      Cycles: 4 * 8 * 8 * 2 = 512. Behind: planes 7 * 2 * 16 = 224; passes 16.
    27 bits: 28 levels, 5 bits, none missing. Join: 16 adds; x and w lie on one grid, so no shift. No bias.
    Adds: 224 + 16 + 224 + 16 + 16 = 496.
    """
    weights = np.arange(108).reshape(4, 3, 3, 3) - 50
    attributes = {"groups": 2, "strides": (2, 2), "sign_zero": 0}
    from mfsim.cim import ARRAYS

    report = map_program(one("mf_conv2d", (6, 5, 5), attributes, [(weights, 8, -7)]), ARRAYS["mf-net-8x62"])
    w_part, x_part = report.parts
    assert (w_part.vectors, w_part.terms, w_part.outputs, w_part.groups) == (4, 27, 2, 2)
    assert (w_part.row_tiles, w_part.column_tiles, w_part.tiles, w_part.steps, w_part.passes) == (2, 1, 4, 8, 2)
    assert (w_part.activations, w_part.conversions, w_part.cycles) == (32, 256, 128)
    assert (w_part.cells_used, w_part.cells) == (864, 992)
    assert w_part.signs == "two line passes, positive and negative inputs apart"
    assert (x_part.row_tiles, x_part.column_tiles, x_part.tiles, x_part.steps, x_part.passes) == (1, 1, 2, 8, 2)
    assert (x_part.activations, x_part.conversions, x_part.cycles) == (64, 256, 512)
    assert (x_part.cells_used, x_part.cells) == (216, 496)
    assert x_part.signs == "two columns, positive and negative weights apart"
    assert (w_part.levels, w_part.lossless_bits, w_part.missing_bits) == (28, 5, 0)
    (node,) = report.nodes
    assert (node.steps, node.dense_steps, node.adds, node.cycles) == (16, 64, 496, 640)
    assert node.utilisation == (864 + 216) / (992 + 496)


@pytest.mark.parametrize(("converter_bits", "missing"), [(1, 4), (None, 0)])
def test_transform_longer_than_the_crossbar(converter_bits, missing):
    """H_32 of 3 vectors of s6 on an 8 x 8 crossbar of H_8, unsigned lines.

    32 / 8 = 4 blocks of each vector: 12 input vectors of 8 terms, 8 lines, one tile in full use.
    6 planes: 12 * 6 = 72 activations and cycles, 72 * 8 = 576 conversions.
    +-1 times a bit in 8 rows: -8..8, 17 levels, 5 bits.
    Behind: planes (6-1) * 96 outputs = 480 shifts and adds; 2 stages of butterflies over 96 codes, of 6 + 3 = 9
    bits, then 10. Sums of 17 levels, 5 bits, times 2^5, and a sign: 11 bits.
    """
    report = map_program(
        one("wht", (3, 32), bits=6), CimArray(rows=8, columns=8, converter_bits=converter_bits, stores="wht")
    )
    (part,) = report.parts
    assert (part.vectors, part.terms, part.outputs, part.tiles, part.utilisation) == (12, 8, 8, 1, 1.0)
    assert (part.steps, part.activations, part.conversions, part.cycles) == (6, 72, 576, 72)
    assert (part.levels, part.lossless_bits, part.missing_bits) == (17, 5, missing)
    assert [(row.what, row.primitive, row.bits, row.count) for row in report.outside] == [
        ("bit planes", "shift", 11, 480),
        ("bit planes", "addsub", 11, 480),
        ("butterflies", "addsub", 9, 96),
        ("butterflies", "addsub", 10, 96),
    ]
    (node,) = report.nodes
    assert (node.adds, node.dense_steps, node.dense_conversions) == (480 + 192, None, None)


def test_transform_of_planes_on_signed_lines():
    """Two-dimensional H_4 x H_4 of s8 on 16 x 16: along rows 8 magnitude planes, then s10: 10 planes.

    16 codes, 4 vectors of 4 along each axis; 4 x 4 of 16 x 16 cells are in use: 4*8 + 4*10 = 72 activations.
    """
    from mfsim.cim import ARRAYS

    report = map_program(one("wht", (4, 4), {"dims": 2}), ARRAYS["wht-16x16"])
    assert [(part.part, part.steps, part.activations) for part in report.parts] == [
        ("transform along axis 2", 8, 32),
        ("transform along axis 1", 10, 40),
    ]
    assert report.nodes[0].utilisation == 2 * 16 / (2 * 256)


def test_transform_of_unsigned_planes():
    """Two-dimensional H_4 x H_4 of u8 on an array of H_2: the codes 0..255 have no sign, their sums have one.

    Along rows 8 planes drive 8 blocks of 2: 64 activations. A sum of 2 is in -255..510, s10, the operand of the
    one stage of butterflies; one of 4 in -510..1020, s11. Along columns unsigned lines take its 11 planes, 88
    activations, and signed ones the 10 of its magnitude, 80. Sums of 2 of them are in -1530..2040, s12.
    """
    from mfsim.ir.builder import ProgramBuilder
    from mfsim.ir.formats import Format

    builder = ProgramBuilder()
    program = builder.finish([builder.node("wht", [builder.input("x", (4, 4), Format(8, False))], {"dims": 2})])
    for lines, planes in (("unsigned", 11), ("signed", 10)):
        report = map_program(program, CimArray(rows=2, columns=2, stores="wht", lines=lines))
        assert [(part.steps, part.activations) for part in report.parts] == [(8, 64), (planes, 8 * planes)]
        assert [row.bits for row in report.outside if row.what == "butterflies"] == [10, 12]


def test_dense_product_with_wider_digits():
    """5 terms, 3 outputs, x u5, w s7, on 64 x 64 with 2-bit cells and 3-bit lines.

    x: ceil(5/3) = 2 digits up to 7; w: a sign plane and ceil(6/2) = 3 digits up to 3: 2 * 4 = 8 steps.
    5 * 7 * 3 = 105: 106 levels, 7 bits. 3 * 4 = 12 lines, 1 tile, 2 activations, 24 conversions.
    """
    weights = np.arange(15).reshape(5, 3) - 7
    from mfsim.ir.builder import ProgramBuilder
    from mfsim.ir.formats import Format

    builder = ProgramBuilder()
    x, w = builder.input("x", (5,), Format(5, False)), builder.constant("w", weights, Format(7))
    report = map_program(
        builder.finish([builder.node("matmul", [x, w])]), CimArray(rows=64, columns=64, cell_bits=2, input_bits=3)
    )
    (part,) = report.parts
    assert (part.steps, part.levels, part.lossless_bits) == (8, 106, 7)
    assert (part.tiles, part.activations, part.conversions, part.driven_bits) == (1, 2, 24, 3)
