"""Operations of one attention layer: closed forms, what is counted beside them, and why the two differ.

N tokens, d features, H heads, n = d / H = 2**q. A linear layer d to d with bias is N d**2 products and as
many additions; scores N**2 d and N**2 (d - H); a softmax H N (2N - 1) additions, H N (N - 1) comparisons,
H N**2 look-ups and divisions; the aggregation N**2 d and d N (N - 1). Fast transforms: cosine (n/2) q
products and 1.5 n q - n + 1 additions, complex Fourier 2 n q - 7 n + 12 and 3 n q - 3 n + 4, real Fourier
n q - 3.5 n + 6 and 1.5 n q - 2.5 n + 4, Walsh-Hadamard n q additions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from examples.papers.units import PARTS, SETTINGS, Setting, Unit, counts, uses
from mfsim.analysis.count import PRIMITIVES
from mfsim.analysis.listing import Cell, Listing
from mfsim.errors import CountError
from mfsim.nn.attention import AttentionConfig
from mfsim.ops.op import MULTIPLIED_BY

CLASSES = tuple(f"mul {by}" for by in MULTIPLIED_BY)
COUNTED = tuple(p for name in PRIMITIVES for p in (CLASSES if name == "mul" else (name,)))
"""What is counted, in the order of columns."""

WHY: dict[tuple[str, str], str] = {
    ("normaliser", "addsub"): "a weight is rounded: half of the row sum is added before each division",
    ("normaliser", "shift"): (
        "rounding doubles every numerator and every row sum; the factor 1 / sqrt(n) lies in the table and shifts nothing"
    ),
    ("transforms", "addsub"): "each turned bin, each bin times a gain, each root and each result of the fixed-point "
    "transform is rounded",
    ("transforms", "shift"): "guard bits of the fixed-point transform, and its roundings",
    (
        "transforms",
        "mul fixed",
    ): "the two real bins take sqrt(1/2) each, as log2 n is odd; other bins take it under the root",
    ("normaliser", "select"): "a step of a maximum is a comparison and a selection",
    ("normaliser", "neg"): "the quotient of magnitudes gets its sign back",
    ("mf value", "neg"): "Q and K keep grids of their own: each part is negated by a sign before the one addition",
    ("mf value", "abs"): "the form abs is taken literally: a magnitude of each operand",
    ("projections", "addsub"): "a triangular layer has no bias, so its sums begin with their first product",
}
"""Why a part executes another number of a primitive than its closed form says."""


def closed_form(unit: Unit, setting: Setting) -> dict[str, Counter[str]]:
    """Return {part: {primitive: count}} of a unit from formulas, with the names of `examples.papers.units.counts`."""
    config = setting.config(unit)
    forms = {
        "projections": _projections(config, unit, setting),
        "transforms": Counter() if unit.way == "folded" else _transforms(config, unit, setting),
        "mf value": _mf_value(config, setting),
        "scores": _scores(config, setting),
        "normaliser": _normaliser(config, setting),
        "aggregation": _aggregation(setting),
        "output transform": _output_transform(config, setting),
    }
    return {part: forms[part] for part in PARTS}


def _projections(config: AttentionConfig, unit: Unit, setting: Setting) -> Counter[str]:
    tokens, d, n = setting.tokens, setting.width, setting.width // config.heads
    dense = [config.query, config.key, config.value].count("projection") + (config.output == "dense")
    products = additions = dense * tokens * d * d
    if config.query == "triangular":
        products += tokens * d * (d + 1) // 2
        additions += tokens * d * (d + 1) // 2
    chain = 0 if unit.way == "folded" else config.chain
    products += chain * tokens * d * n
    additions += chain * tokens * config.heads * n * (n - 1)
    relu = tokens * d * config.chain_relu
    return Counter({"mul learned": products, "addsub": additions, "cmp": relu, "select": relu})


def _transforms(config: AttentionConfig, unit: Unit, setting: Setting) -> Counter[str]:
    tokens, d, heads = setting.tokens, setting.width, config.heads
    n, vectors = d // heads, tokens * heads
    q = n.bit_length() - 1
    kind = next(iter(config.transforms.values()), "none")
    if kind == "dct" and unit.way == "fast":
        return Counter({"mul fixed": vectors * n // 2 * q, "addsub": vectors * (3 * n * q // 2 - n + 1)})
    if kind == "dct":
        return Counter({"mul fixed": vectors * n * n, "addsub": vectors * n * (n - 1)})
    if kind == "wht":
        return Counter({"addsub": vectors * n * q})
    if kind == "dft":
        return Counter(
            {
                "mul fixed": vectors * (n * q - 7 * n // 2 + 6),
                "mul activation": vectors * (n - 2),
                "addsub": vectors * (3 * n * q // 2 - 5 * n // 2 + 4 + n // 2 - 1),
                "sqrt": vectors * (n // 2 - 1),
                "abs": vectors * 2,
            }
        )
    if kind == "filterbank" and unit.way in ("fast", "fixed-point"):
        g = int((tokens - 1) ** 0.5)
        p, pairs = g.bit_length() - 1, uses(config) * heads * -(-n // 2)
        return Counter(
            {
                "mul fixed": pairs * 4 * g * (2 * g * p - 7 * g + 12),
                "mul learned": pairs * 2 * g * g,
                "addsub": pairs * 4 * g * (3 * g * p - 3 * g + 4),
            }
        )
    if kind == "filterbank":  # the constant matrix over all tokens, the class token's row too
        return Counter(
            {"mul learned": uses(config) * tokens * tokens * d, "addsub": uses(config) * tokens * (tokens - 1) * d}
        )
    return Counter()


def _mf_value(config: AttentionConfig, setting: Setting) -> Counter[str]:
    entries = setting.tokens * setting.width * (config.value == "mf")
    return Counter({"addsub": entries, "neg": entries, "sign": 2 * entries})


def _scores(config: AttentionConfig, setting: Setting) -> Counter[str]:
    tokens, d = setting.tokens, setting.width
    pairs = tokens * (tokens + 1) // 2 if config.key == "query" else tokens**2
    return Counter({"mul activation": pairs * d, "addsub": pairs * (d - config.heads)})


def _normaliser(config: AttentionConfig, setting: Setting) -> Counter[str]:
    tokens, heads, n = setting.tokens, config.heads, setting.width // config.heads
    weights = heads * tokens * tokens
    root = n**0.5
    found = Counter({"lut": weights, "div": weights, "shift": weights * (root == int(root) and n & (n - 1) == 0)})
    if config.normaliser == "tanh_l1":
        return found + Counter({"addsub": weights, "abs": weights})
    rows = heads * tokens
    return found + Counter({"addsub": rows * (2 * tokens - 1), "cmp": rows * (tokens - 1)})


def _aggregation(setting: Setting) -> Counter[str]:
    tokens, d = setting.tokens, setting.width
    return Counter({"mul activation": tokens**2 * d, "addsub": d * tokens * (tokens - 1)})


def _output_transform(config: AttentionConfig, setting: Setting) -> Counter[str]:
    if config.output != "hadamard":
        return Counter()
    entries, length = setting.tokens * setting.width, setting.width & -setting.width
    gains = entries if config.alpha == "free" else 0
    return Counter({"mul learned": gains, "addsub": entries * (length.bit_length() - 1) + entries})


def per_layer(unit: Unit, setting: Setting) -> Counter[str]:
    """Return the operations of one layer, {primitive: count}."""
    return sum(counts(unit, setting).values(), Counter())


def unit_listing(units: Iterable[Unit]) -> Listing:
    """Return operations of one attention layer, by unit, beside the additions of closed forms."""
    rows: list[tuple[Cell, ...]] = []
    for setting in SETTINGS:
        for unit in units:
            found, formula = per_layer(unit, setting), sum(closed_form(unit, setting).values(), Counter())
            agree = all(found[name] == formula[name] for name in CLASSES)
            rows.append(
                (
                    setting.model,
                    unit.name,
                    *(found[name] for name in CLASSES),
                    agree,
                    found["addsub"],
                    formula["addsub"],
                    found["addsub"] - formula["addsub"],
                )
            )
    columns = (
        *("model", "unit", *(name.replace(" ", "_") for name in CLASSES), "as_closed_form"),
        *("addsub", "addsub_closed_form", "difference"),
    )
    return Listing("attention_layer", columns, tuple(rows))


def primitive_listing(units: Iterable[Unit]) -> Listing:
    """Return every primitive of one attention layer, by unit."""
    rows: list[tuple[Cell, ...]] = []
    for setting in SETTINGS:
        for unit in units:
            found = per_layer(unit, setting)
            rows.append((setting.model, unit.name, *(found[name] for name in COUNTED)))
    return Listing(
        "attention_layer_primitives", ("model", "unit", *(c.replace(" ", "_") for c in COUNTED)), tuple(rows)
    )


def differences(unit: Unit, setting: Setting) -> dict[tuple[str, str], int]:
    """Return {(part, primitive): ours minus closed form} of one layer, where it is not 0.

    Raises
    ------
    CountError
        If a difference has no reason in `WHY`.
    """
    ours, formula = counts(unit, setting), closed_form(unit, setting)
    found = {
        (part, name): ours[part][name] - formula[part][name]
        for part in PARTS
        for name in COUNTED
        if ours[part][name] != formula[part][name]
    }
    for place in found:
        if place not in WHY:
            raise CountError(
                f"the count of {place[1]} in the {place[0]} of `{unit.name}` differs for an unknown reason"
            )
    return found


def difference_listing(units: Iterable[Unit]) -> Listing:
    """Return the differences from closed forms and their reasons; units that differ alike share a row."""
    alike: dict[tuple[str, str, str, int], list[str]] = {}
    for setting in SETTINGS:
        for unit in units:
            for (part, name), amount in differences(unit, setting).items():
                alike.setdefault((setting.model, part, name, amount), []).append(unit.name)
    return _reasons(alike)


def _reasons(alike: Mapping[tuple[str, str, str, int], list[str]]) -> Listing:
    columns = ("model", "part", "primitive", "difference", "units", "why")
    rows = tuple(
        (model, part, name, amount, ", ".join(units), WHY[part, name])
        for (model, part, name, amount), units in alike.items()
    )
    return Listing("attention_layer_differences", columns, rows)
