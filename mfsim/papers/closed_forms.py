"""Closed forms of the operations of one attention layer, to hold against what is counted.

N tokens, d features, H heads, n = d / H = 2**q. A linear layer d to d with bias is N d**2 products and as
many additions; scores N**2 d and N**2 (d - H); a softmax H N (2N - 1) additions, H N (N - 1) comparisons,
H N**2 look-ups and divisions; the aggregation N**2 d and d N (N - 1). Fast transforms: cosine (n/2) q
products and 1.5 n q - n + 1 additions, complex Fourier 2 n q - 7 n + 12 and 3 n q - 3 n + 4, real Fourier
n q - 3.5 n + 6 and 1.5 n q - 2.5 n + 4, Walsh-Hadamard n q additions. Nothing here runs a network.
"""

from __future__ import annotations

from collections import Counter

from mfsim.nn.attention import AttentionConfig
from mfsim.papers.units import PARTS, Setting, Unit, uses


def closed_form(unit: Unit, setting: Setting) -> dict[str, Counter[str]]:
    """Return {part: {primitive: count}} of a unit from formulas, with the names of `mfsim.papers.units.counts`."""
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
