"""dct: the orthonormal cosine transform of each row of n = 2**q codes, by Lee's fast algorithm in fixed point.

    S(one code) = the code
    S(v) of m codes:  E = S(v_i + v_(m-1-i)),  D = S(((v_i - v_(m-1-i)) c_i + half) >> T)
                      S_(2k) = E_k,  S_(2k+1) = D_k + D_(k+1),  the last one D_(m/2-1)
    y_k = round(S_k(2**G x) 2**h), halves up,    h = e - G + F - floor(q/2)

x lies on 2**e, y on 2**-F; c_i = 1 / (2 cos((2i+1) pi / (2m))) on 2**-T. For even q the c_i that differences of plain
sums meet hold sqrt(2); for odd q, S_0 is multiplied by sqrt(1/2): with that the result is orthonormal. A multiplier
whose code is 1 is free. `products` says how the others are computed: mul, or shift (a shift for each signed digit
above place 0, and additions); the codes are the same.

Error against the float function, for every row: 1/2 LSB for the rounding plus `derived.dct.result_error`, which
`defaults` keeps at 1/4. Without roundings: n q / 2 multiplications and 3 n q / 2 - n + 1 additions.
Source: Lee, "A New Algorithm to Compute the Discrete Cosine Transform", IEEE Trans. ASSP-32, 1984.
"""

from __future__ import annotations

import collections
import math
from fractions import Fraction

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.fourier.dct_tables import bounds, multipliers, result_places
from mfsim.ops.fourier.definition import PRODUCTS, length_and_bits, multiplied
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.row_functions import FRACTION, by_rows, check_fraction, row_count
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, X

MOST_GUARD = 30


def _size(x, table) -> tuple[int, int]:
    """Return n and T, both inputs checked."""
    return length_and_bits("dct", x, "multipliers", table, multipliers)


def _derive(tensors, attributes):
    """Return h."""
    x, table = tensors
    n, _ = _size(x, table)
    return {"shift": result_places(n, attributes["guard"], attributes["fraction"], x.scale.exponent)}


def _infer(tensors, attributes):
    x, table = tensors
    n, bits = _size(x, table)
    guard, fraction = attributes["guard"], attributes["fraction"]
    check_fraction("dct", fraction, -31)
    if not 0 <= guard <= MOST_GUARD:
        raise FormatError(f"`guard` of op `dct` must be in 0..{MOST_GUARD}, not {guard}")
    shift = _derive(tensors, attributes)["shift"]
    if attributes["shift"] != shift:
        raise FormatError(f"`shift` of op `dct` must be {shift} for its scales, not {attributes['shift']}")
    code, pair, product, greatest, _ = bounds(n, bits, x.range.bound << guard)
    raised = greatest << shift if shift > 0 else greatest + (1 << -shift - 1 if shift < 0 else 0)
    words = {
        "code": Format.of_range(-code, code, "a code of a cosine transform"),
        "pair": Format.of_range(-pair, pair, "a difference"),
        "product": Format.of_range(-4 * product, 4 * product, "the digits of a product")
        if attributes["products"] == "shift"
        else Format.of_range(-product, product, "a product"),
        "raised": Format.of_range(-raised, raised, "a result before it is rounded"),
    }
    most = raised >> -shift if shift < 0 else raised
    y = result(x.shape, Range.of(-most, most), Scale.of(-fraction), "the result of dct")
    return Inference((y,), words)


def _sums(codes: list[int], table: list[int], n: int, plain: bool) -> list[int]:
    """Return S of m codes, `plain` where all of them are sums only."""
    m = len(codes)
    if m == 1:
        return codes
    pairs = [(codes[i], codes[m - 1 - i]) for i in range(m // 2)]
    row = table[1 + 2 * (n - m) + (0 if plain else m // 2) :]
    halves = [
        math.floor(Fraction((a - b) * c, table[0]) + Fraction(1, 2)) for (a, b), c in zip(pairs, row, strict=False)
    ]
    even = _sums([a + b for a, b in pairs], table, n, plain)
    odd = [*_sums(halves, table, n, False), 0]
    return [value for k in range(m // 2) for value in (even[k], odd[k] + odd[k + 1])]


def _reference(inputs, attributes):
    """Return the transform of each row, from the definition."""
    x, table = inputs
    table, n = [int(code) for code in table], x.shape[-1]

    def transformed(row: list[int]) -> list[int]:
        sums = _sums([code * 2 ** attributes["guard"] for code in row], table, n, True)
        if n.bit_length() % 2 == 0:
            sums[0] = math.floor(Fraction(sums[0] * table[-1], table[0]) + Fraction(1, 2))
        return [math.floor(value * Fraction(2) ** attributes["shift"] + Fraction(1, 2)) for value in sums]

    return [by_rows(np.asarray(x), transformed)]


def _used(codes: list[int], n: int) -> list[tuple[int, int]]:
    """Return (multiplier, how often it is met by one row), multipliers of 1 left out."""
    used = []
    for m in (n >> level for level in range(n.bit_length() - 1)):
        row = codes[1 + 2 * (n - m) :]
        used += [(c, 1) for c in row[: m // 2]] + [(c, n // m - 1) for c in row[m // 2 : m]]
    if n.bit_length() % 2 == 0:
        used.append((codes[-1], 1))
    return [(c, times) for c, times in used if c != codes[0] and times]


def _count(node, inputs, outputs):
    """Return the operations of one sample: differences and sums, products, and a rounding of each product and result."""
    x, table = inputs
    words, attributes, n = node.words, node.attributes, int(x.shape[-1])
    q, times, shift = n.bit_length() - 1, row_count(x), attributes["shift"]
    used = _used([int(code) for code in table.codes], n)
    products = sum(count for _, count in used)
    code, pair, product, raised = (words[name].bits for name in ("code", "pair", "product", "raised"))
    constants = collections.Counter[int]()
    for c, met in used:
        constants[c] += times * met
    made = multiplied(constants, (pair, table.format.bits), product, attributes["products"], "fixed")
    return rows(
        node,
        ("shift", (x.format.bits,), times * n * (attributes["guard"] > 0)),
        ("addsub", (code, code), times * (n * q + (q - 1) * n // 2 - n // 2 + 1)),
        *made,
        ("addsub", (product, -table.scale.exponents[0]), times * products),
        ("shift", (product,), times * products),
        ("addsub", (raised, max(1, -shift)), times * n * (shift < 0)),
        ("shift", (raised,), times * n * (shift != 0)),
    )


OP = Op(
    name="dct",
    summary="orthonormal cosine transform of the last axis, by a fast algorithm in fixed point",
    attributes=(
        FRACTION,
        Attribute("guard", "int", "G: bits that the transform has behind the codes"),
        Attribute("products", "str", "products with multipliers, or shifts and additions", "mul", PRODUCTS),
        Attribute("shift", "int", "h: places between a sum and its result", derived=True),
    ),
    inputs=("x", "multipliers"),
    roles={"multipliers": Role.FACTOR},
    signature=Signature(
        "DCT",
        (
            X,
            X_SCALE,
            Input("places", Role.CONSTANT),
            Input("weights", Role.FACTOR),
            Input("factors", Role.FACTOR),
            Y_SCALE,
        ),
        ("products",),
    ),
    primitives=frozenset({"addsub", "shift", "mul"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    integer_body=True,
    held={
        "split.w": "code",
        "join.w": "code",
        "split.multiplied.addsub": "pair",
        "_multiplied>product.total": "product",
        "multiplied.mul": "product",
        "plain>rounded.addsub": "raised",
        "plain.y": "raised",
    },
)
