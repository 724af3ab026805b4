"""filterbank: filter each head's g x g patches in the frequency domain, by fixed-point Fourier transforms of radix 2.

    z = 2**G (x_2i + j x_(2i+1))         two features of a head, g x g patches
    Y = round(F(z) c)                    c: the head's gains on 2**-B, the same at k and -k; both parts rounded
    y_2i + j y_(2i+1) = round(i(F(i(Y))) 2**h)        h = e - G + F - 2 log2 g

x [heads, tokens, features] lies on 2**e, y on 2**-F; i exchanges real and imaginary parts. F transforms rows, then columns:

    F(one code) = the code
    E, O = F(even codes), F(odd codes),  t_k = O_k W_k,  W_k = exp(2 pi j k / m)
    X_k = E_k + t_k,  X_(k+m/2) = E_k - t_k,    k < m/2

For 0 < k < m/4 both parts of t_k are (.. + half) >> T, of cosines on 2**-T; t_0 = O_0, and t_(k+m/4) is j O_(k+m/4) W_k.
Roundings go halves up. The first `passing` tokens are moved to the grid of the result only. A last feature without
another goes with zeros. As a filter with even gains is real and linear, it keeps the two features apart but for
roundings. `products` says how products are computed: mul, or shift (a shift for each signed digit above place 0, and
additions; a gain of 0 costs nothing); the codes are the same.

Error against the float filter with the same gains, for every image: 1/2 LSB for the rounding, plus
`derived.filterbank.result_error`, which `defaults` keeps at 1/4. Rounded gains add at most
`derived.filterbank.gain_error`, g max|x| 2**(e + F - B - 1) LSB. Both are proved in `mfsim/ops/fourier/filterbank_tables.py`.
Without roundings: 2 g**2 products with gains and 4 g (2 g q - 7 g + 12) with cosines, 4 g (3 g q - 3 g + 4) additions for
two features, q = log2 g.
Source: Cooley and Tukey, Math. Comp. 19, 1965 (radix 2); the two features as one complex image are ours.
"""

from __future__ import annotations

import collections
import math
from fractions import Fraction

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.fourier.definition import PRODUCTS, cosines_met, multiplied
from mfsim.ops.fourier.dft_tables import cosines
from mfsim.ops.fourier.filterbank_tables import MOST_GUARD, bounds, check_grid, result_places
from mfsim.ops.op import Attribute, Inference, Op, result, rows
from mfsim.ops.row_functions import FRACTION, check_fraction
from mfsim.ops.traits import X_SCALE, Y_SCALE, Input, Role, Signature, Trait, X

MOST_GAIN_PLACES = 30


def _size(x, table, gains, attributes) -> tuple[int, int, int]:
    """Return g, T and B, all inputs checked."""
    if len(x.shape) != 4:
        raise ShapeError(
            f"x of op `filterbank` must have the axes heads, tokens, features behind the batch, not {x.shape}"
        )
    if x.scale.axis is not None:
        raise FormatError("x of op `filterbank` must have one scale; requantize first")
    if not table.is_constant or not gains.is_constant:
        raise FormatError("the cosines and the gains of op `filterbank` must be constants")
    if len(gains.shape) != 3 or gains.shape[1] != gains.shape[2]:
        raise ShapeError(f"the gains of op `filterbank` must be a square for each head, not {gains.shape}")
    heads, grid = gains.shape[:2]
    check_grid(grid)
    passing = attributes["passing"]
    if passing < 0 or x.shape[1:3] != (heads, passing + grid * grid):
        raise ShapeError(
            f"a filterbank of {heads} heads over {grid} x {grid} patches and {passing} passing tokens does not suit x {x.shape}"
        )
    bits, places = -table.scale.exponents[0], -gains.scale.exponents[0]
    if table.scale.axis is not None or tuple(int(code) for code in table.codes.reshape(-1)) != cosines(grid, bits):
        raise FormatError(f"the cosines of op `filterbank` must be those of {grid} codes on their scale")
    if gains.scale.axis is not None or not 0 <= places <= MOST_GAIN_PLACES:
        raise FormatError(
            f"the gains of op `filterbank` must lie on one scale of 2^-{MOST_GAIN_PLACES} to 1, not on {gains.scale}"
        )
    mirrored = np.roll(gains.codes[:, ::-1, ::-1], (1, 1), (1, 2))
    if (mirrored != gains.codes).any():
        raise FormatError("the gains of op `filterbank` must be even: the same for a frequency and its negative")
    return grid, bits, places


def _derive(tensors, attributes):
    """Return B and h."""
    x, table, gains = tensors
    grid, _, places = _size(x, table, gains, attributes)
    shift = result_places(grid, attributes["guard"], attributes["fraction"], x.scale.exponent)
    return {"gain_places": places, "shift": shift}


def _infer(tensors, attributes):
    x, table, gains = tensors
    grid, bits, places = _size(x, table, gains, attributes)
    guard, fraction = attributes["guard"], attributes["fraction"]
    check_fraction("filterbank", fraction, -31)
    if not 0 <= guard <= MOST_GUARD:
        raise FormatError(f"`guard` of op `filterbank` must be in 0..{MOST_GUARD}, not {guard}")
    for name, value in _derive(tensors, attributes).items():
        if attributes[name] != value:
            raise FormatError(f"`{name}` of op `filterbank` must be {value} for its scales, not {attributes[name]}")
    shift, most = attributes["shift"], int(np.abs(gains.codes).max())
    real = gains.codes * 2.0**-places
    norm, reach = np.sqrt((real**2).sum((1, 2))).max(), np.abs(np.fft.ifft2(real)).sum((1, 2)).max()
    found = bounds(grid, x.range.bound << guard, bits, most * 2.0**-places, float(norm), float(reach))
    spectrum, turned, filtered, whole = (
        math.floor(value) for value in (found.spectrum, found.turned, found.filtered, found.result)
    )
    several = attributes["products"] == "shift"  # the digits of a product, added in any order, reach less than twice it
    product = (4 if several else 1) * turned * ((1 << bits) + 1) + (1 << bits - 1)
    gained = (2 if several else 1) * spectrum * most + (1 << places >> 1)
    raised = whole << shift if shift > 0 else whole + (1 << -shift - 1 if shift < 0 else 0)
    passed = x.scale.exponent + fraction
    words = {
        "bin": _word(max(spectrum, filtered), "a bin of a Fourier transform"),
        "pair": _word(3 * turned // 2, "the sum of both parts of a bin"),
        "product": _word(product, "a bin times a cosine"),
        "gained": _word(gained, "a bin times a gain"),
        "raised": _word(raised, "a result before it is rounded"),
    }
    end = raised >> -shift if shift < 0 else raised
    los, his = [-end], [end]
    if attributes["passing"]:
        los.append(_moved(x.range.low, passed))
        his.append(_moved(x.range.high, passed))
        ends = [code << max(passed, 0) for code in (x.range.low, x.range.high)]
        half = 1 << -passed - 1 if passed < 0 else 0
        words["passed"] = Format.of_range(min(*ends, 0), max(*ends, 0) + half, "a token that passes through")
    y = result(x.shape, Range.of(min(los), max(his)), Scale.of(-fraction), "the result of filterbank")
    return Inference((y,), words)


def _word(largest: int, what: str) -> Format:
    return Format.of_range(-largest, largest, what)


def _moved(code: int, places: int) -> int:
    """Return code 2**places, halves up."""
    return math.floor(code * Fraction(2) ** places + Fraction(1, 2))


Complex = tuple[int, int]


def _transform(codes: list[Complex], table: list[int], n: int) -> list[Complex]:
    """Return F of m complex codes, `table` being the cosines of n codes."""
    m = len(codes)
    if m == 1:
        return codes
    even, odd = _transform(codes[::2], table, n), _transform(codes[1::2], table, n)
    low, high = [], []
    for k, ((a, b), (re, im)) in enumerate(zip(even, odd, strict=True)):
        turns, rest = divmod(k, m // 4) if m > 2 else (0, k)
        if rest:
            cosine, sine = table[rest * n // m], table[n // 4 - rest * n // m]
            parts = (re * cosine - im * sine, re * sine + im * cosine)
            re, im = (math.floor(Fraction(part, table[0]) + Fraction(1, 2)) for part in parts)
        c, d = (-im, re) if turns else (re, im)
        low.append((a + c, b + d))
        high.append((a - c, b - d))
    return low + high


def _both_axes(image: list[list[Complex]], table: list[int]) -> list[list[Complex]]:
    n = len(image)
    columns = zip(*(_transform(row, table, n) for row in image), strict=True)
    transformed = [_transform(list(column), table, n) for column in columns]
    return [list(row) for row in zip(*transformed, strict=True)]


def _filtered(image: list[list[Complex]], table: list[int], gains: np.ndarray, places: int) -> list[Complex]:
    """Return the patches behind both transforms, row by row, for the gains of a head on 2**-`places`."""
    exchanged = [
        [(_moved(im * int(gain), -places), _moved(re * int(gain), -places)) for (re, im), gain in pairs]
        for pairs in (zip(*both, strict=True) for both in zip(_both_axes(image, table), gains, strict=True))
    ]
    return [(re, im) for row in _both_axes(exchanged, table) for im, re in row]


def _reference(inputs, attributes):
    """Return the filtered tokens, from the definition."""
    x, cosine_codes, gains = (np.asarray(codes) for codes in inputs)
    table = [int(code) for code in cosine_codes]
    passing, guard, grid, features = attributes["passing"], attributes["guard"], gains.shape[1], x.shape[-1]
    # h = e - G + F - 2 log2 g gives back e + F, by which what passes through is moved.
    back = attributes["shift"] + guard + 2 * check_grid(grid)
    out = np.empty(x.shape, dtype=object)
    for sample, head in np.ndindex(*x.shape[:2]):
        tokens = [[int(code) for code in token] for token in x[sample, head]]
        for token in range(passing):
            out[sample, head, token] = [_moved(code, back) for code in tokens[token]]
        for first in range(0, features, 2):
            pairs = [[*(code << guard for code in token[first : first + 2]), 0][:2] for token in tokens[passing:]]
            image = [[(a, b) for a, b in pairs[k : k + grid]] for k in range(0, grid * grid, grid)]
            filtered = _filtered(image, table, gains[head], attributes["gain_places"])
            for token, parts in enumerate(filtered, start=passing):
                moved = [_moved(part, attributes["shift"]) for part in parts]
                out[sample, head, token, first : first + 2] = moved[: features - first]
    return [out]


def _count(node, inputs, outputs):
    """Return the operations of one sample: four transforms of g lines for each pair of features, gains, roundings."""
    x, table, gains = inputs
    attributes, kind = node.attributes, node.attributes["products"]
    heads, grid, features = gains.shape[0], gains.shape[1], int(x.shape[3])
    q, size, pairs = grid.bit_length() - 1, grid * grid, -(-features // 2)
    names = ("bin", "pair", "product", "gained", "raised")
    bits, pair, product, gained, raised = (node.words[name].bits for name in names)
    lines, results, passing = (
        heads * pairs * 4 * grid,
        heads * features * size,
        heads * features * attributes["passing"],
    )
    shift, passed = attributes["shift"], x.scale.exponents[0] + attributes["fraction"]
    level, turned = grid // 2 - 2, (q - 3) * grid // 2 + 2  # of a line; `level` ones by 45 degrees
    cosine_codes, gain_codes = collections.Counter[int](), collections.Counter[int]()
    for place, times in cosines_met(grid).items():  # of complex codes twice as often
        cosine_codes[int(table.codes[place])] += 2 * lines * times
    for code in gains.codes.reshape(-1):
        gain_codes[int(code)] += 2 * pairs
    met = sum(times for code, times in gain_codes.items() if code or kind == "mul") * (attributes["gain_places"] > 0)
    made = [
        ("shift", (x.format.bits,), results * (attributes["guard"] > 0)),
        ("addsub", (bits, bits), lines * 2 * grid * q),
        ("addsub", (pair, pair), lines * 2 * level),
        ("addsub", (product, product), lines * 2 * (turned - level)),
        *multiplied(cosine_codes, (pair, table.format.bits), product, kind, "fixed"),
        ("addsub", (product, -table.scale.exponents[0]), lines * 2 * turned),
        ("shift", (product,), lines * 2 * turned),
        *multiplied(gain_codes, (bits, gains.format.bits), gained, kind, "learned"),
        ("addsub", (gained, max(1, attributes["gain_places"])), met),
        ("shift", (gained,), met),
        ("addsub", (raised, max(1, -shift)), results * (shift < 0)),
        ("shift", (raised,), results * (shift != 0)),
    ]
    if passing:
        word = node.words["passed"].bits
        made += [
            ("addsub", (word, max(1, -passed)), passing * (passed < 0)),
            ("shift", (word,), passing * (passed != 0)),
        ]
    return rows(node, *made)


def even(rng: np.random.Generator, shape: tuple[int, ...], lo: int, hi: int) -> np.ndarray:
    """Return random gains [heads, g, g] in lo..hi, the same at a frequency and its negative.

    Parameters
    ----------
    rng : Generator
        Source of the codes.
    shape : (int, int, int)
        Heads, g and g.
    lo, hi : int
        Least and greatest code that may be drawn.

    Returns
    -------
    int64 array, shape (heads, g, g)
        Codes.
    """
    made = rng.integers(lo, hi + 1, shape)
    heads, grid, _ = shape
    for _, k, i in np.ndindex(heads, grid, grid):
        made[:, -k % grid, -i % grid] = made[:, k, i]
    return made


OP = Op(
    name="filterbank",
    summary="filter each head's image of patches in the frequency domain, by fixed-point transforms of radix 2",
    attributes=(
        FRACTION,
        Attribute("guard", "int", "G: bits that the transforms have behind the codes"),
        Attribute("passing", "int", "tokens in front of the patches that pass through"),
        Attribute("products", "str", "products with constants, or shifts and additions", "mul", PRODUCTS),
        Attribute("gain_places", "int", "B: the gains lie on 2^-B", derived=True),
        Attribute("shift", "int", "h: places between a code behind the transforms and its result", derived=True),
    ),
    inputs=("x", "cosines", "gains"),
    traits=frozenset({Trait.OUTPUTS_FIRST}),
    roles={"cosines": Role.FACTOR, "gains": Role.WEIGHT},
    signature=Signature(
        "Filterbank",
        (
            X,
            X_SCALE,
            Input("gains", Role.WEIGHT, "weight"),
            Input("gain_scale", Role.SCALE),
            Input("places", Role.CONSTANT),
            Input("weights", Role.FACTOR),
            Input("factors", Role.FACTOR),
            Y_SCALE,
        ),
        ("passing", "products"),
    ),
    primitives=frozenset({"addsub", "shift", "mul", "neg"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    integer_body=True,
    held={
        "line.re": "bin",
        "line.im": "bin",
        "twiddled.times.addsub": "pair",
        "twiddled>times.return": "product",
        "twiddled.across": "product",
        "twiddled.along": "product",
        "twiddled>rounded.addsub": "product",
        "gained.times": "gained",
        "_gained>rounded.addsub": "gained",
        "_pass>rounded.addsub": "passed",
        "pass.y": "passed",
        "plain>rounded.addsub": "raised",
        "plain.y": "raised",
    },
)
