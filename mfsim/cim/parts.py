"""A part of a node on arrays: one stored matrix, driven step by step, and the adders behind it.

A part multiplies `vectors` inputs of `terms` codes by a stored matrix of `terms` x `outputs`, once for
each of `groups`. The matrix is cut into tiles of `Array.terms` x `Array.sums` cells. One activation
drives one digit plane of one input into one tile; each sum in use is then converted.

Outside the array, for each output: the sums of the tiles are added, then the planes with their shifts,
then passes are subtracted and signs corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfsim.cim.array import CimArray
from mfsim.cim.digits import Digits


@dataclass(frozen=True)
class Outside:
    """`count` executions of `primitive` on words of `bits` bits in digital logic outside the arrays."""

    layer: str
    node: str
    part: str
    what: str
    primitive: str
    bits: int
    count: int


@dataclass(frozen=True)
class Product:
    """What a part computes: `vectors` x `terms` by `terms` x `outputs`, for each of `groups`."""

    vectors: int
    terms: int
    outputs: int
    groups: int = 1


@dataclass(frozen=True)
class Part:
    """Counts of one part for one sample.

    Attributes
    ----------
    steps : digit planes of the driven operand times those of the stored one: what an output needs.
    passes : 2 where positive and negative operands are summed apart.
    row_tiles, column_tiles : of one group, as the array's rows and columns lie.
    tiles : of all groups.
    activations : digit planes driven into tiles.
    conversions : sums that are converted.
    cycles : with each tile in a cell block of its own, all at work at once; `shared_by` for an activation.
    cycles_of_one_array : the same with one array for all, without the time to write its cells.
    cells, cells_used : of all tiles.
    driven_bits : of the widest digit that a line carries.
    lines_driven : lines that carry a digit, over all activations.
    cells_active : cells in use, over all activations.
    levels : values that the largest sum can take.
    lossless_bits : what tells all of them apart.
    missing_bits : how many of these the converter lacks; 0 for an ideal one.
    signs : how signs are treated.
    """

    layer: str
    node: str
    op: str
    part: str
    vectors: int
    terms: int
    outputs: int
    groups: int
    steps: int
    passes: int
    row_tiles: int
    column_tiles: int
    tiles: int
    activations: int
    conversions: int
    cycles: int
    cycles_of_one_array: int
    cells: int
    cells_used: int
    utilisation: float
    driven_bits: int
    lines_driven: int
    cells_active: int
    levels: int
    lossless_bits: int
    missing_bits: int
    signs: str


def lossless_levels(rows: int, driven: Digits, stored: Digits) -> int:
    """Return the number of levels of a sum of `rows` products of a driven and a stored digit.

    rows * (2**cell_bits - 1) * (2**input_bits - 1) + 1, or twice that many plus 1 where a product may
    be negative; a sign is one bit, whatever cells and lines could carry.

    Parameters
    ----------
    rows : int, at least 1
        Terms of the sum.
    driven : Digits
        Digits on the lines.
    stored : Digits
        Digits in the cells.

    Returns
    -------
    int
        How many values the sum can take, 0 among them.
    """
    most = rows * driven.largest * stored.largest
    return 2 * most + 1 if driven.signed or stored.signed else most + 1


def bits_for(levels: int) -> int:
    """Return the converter resolution for `levels` values: ceil(log2(levels)), at least 1.

    Parameters
    ----------
    levels : int, at least 1
        How many values have to be told apart.

    Returns
    -------
    int
        Bits of a converter, at least 1.
    """
    return max(1, (levels - 1).bit_length())


def place(
    where: tuple[str, str, str], part: str, product: Product, driven: Digits, stored: Digits, array: CimArray
) -> tuple[Part, list[Outside]]:
    """Return the tiling of a product on `array`: the counts of the part, and the digital operations behind it.

    Parameters
    ----------
    where : tuple of three str
        (layer, node, op).
    part : str
        What the part computes, such as "x * w".
    product : Product
        Vectors, terms, outputs and groups of the product for one sample.
    driven : Digits
        Digits of the operand on the lines.
    stored : Digits
        Digits of the operand in the cells.
    array : CimArray
        The array; a sum longer than its `terms`, or more lines than its `sums`, are tiled.

    Returns
    -------
    tuple of (Part, list of Outside)
        Tiles, activations, conversions, cycles and cells for one sample, and the digital operations.
    """
    lines = product.outputs * stored.planes * stored.passes + stored.corrected
    term_tiles, sum_tiles = -(-product.terms // array.terms), -(-lines // array.sums)
    tiles = product.groups * term_tiles * sum_tiles
    driven_steps = driven.planes * driven.passes
    inputs = product.vectors * product.groups
    activations = product.vectors * tiles * driven_steps
    conversions = inputs * term_tiles * lines * driven_steps
    cells_used, cells = product.groups * product.terms * lines, tiles * array.terms * array.sums
    levels = lossless_levels(min(product.terms, array.terms), driven, stored)
    bits = bits_for(levels)
    by_rows = array.sum_along == "rows"
    made = Part(
        *where,
        part,
        product.vectors,
        product.terms,
        product.outputs,
        product.groups,
        steps=driven.planes * stored.planes,
        passes=driven.passes * stored.passes,
        row_tiles=term_tiles if by_rows else sum_tiles,
        column_tiles=sum_tiles if by_rows else term_tiles,
        tiles=tiles,
        activations=activations,
        conversions=conversions,
        cycles=product.vectors * driven_steps * array.shared_by * min(array.halves, tiles),
        cycles_of_one_array=activations * array.shared_by,
        cells=cells,
        cells_used=cells_used,
        utilisation=cells_used / cells,
        driven_bits=driven.largest.bit_length(),
        lines_driven=inputs * product.terms * sum_tiles * driven_steps,
        cells_active=product.vectors * cells_used * driven_steps,
        levels=levels,
        lossless_bits=bits,
        missing_bits=0 if array.converter_bits is None else max(0, bits - array.converter_bits),
        signs=_signs(driven, stored),
    )
    return made, _behind(where, part, product, driven, stored, term_tiles)


def _signs(driven: Digits, stored: Digits) -> str:
    if driven.passes == 2:
        return "two line passes, positive and negative inputs apart"
    if stored.passes == 2:
        return "two columns, positive and negative weights apart"
    if driven.corrected:
        return "one pass, twice the sum minus a stored constant"
    if stored.corrected:
        return "one column, twice the sum minus that of a column of ones"
    return "signed lines" if driven.signed else ""


def _behind(
    where: tuple[str, str, str], part: str, product: Product, driven: Digits, stored: Digits, term_tiles: int
) -> list[Outside]:
    """Return the operations that make the outputs of a part from its conversions."""
    layer, node, _ = where
    planes, passes = driven.planes * stored.planes, driven.passes * stored.passes
    outputs = product.vectors * product.groups * product.outputs
    whole = bits_for(lossless_levels(product.terms, driven, stored))
    result = whole + driven.top + stored.top + 1

    def made(what: str, primitive: str, width: int, count: int) -> Outside:
        return Outside(layer, node, part, what, primitive, width, count)

    found = [
        made("tiles", "addsub", whole, outputs * (term_tiles - 1) * planes * passes),
        made("bit planes", "shift", result, outputs * (planes - 1) * passes),
        made("bit planes", "addsub", result, outputs * (planes - 1) * passes),
        made("passes", "addsub", result, outputs * (passes - 1)),
    ]
    if stored.corrected:
        inputs = product.vectors * product.groups
        found += [
            made("column of ones, tiles", "addsub", whole, inputs * (term_tiles - 1) * driven.planes),
            made("column of ones", "shift", result, inputs * (driven.planes - 1)),
            made("column of ones", "addsub", result, inputs * (driven.planes - 1)),
        ]
    if driven.corrected or stored.corrected:
        found += [
            made("sign correction", "shift", result + 1, outputs),
            made("sign correction", "addsub", result + 1, outputs),
        ]
    return [row for row in found if row.count]
