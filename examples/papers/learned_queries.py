"""Learned Queries and Keys Are All You Need, arXiv 2609.36698: parameters, multiplications, accuracies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from examples.papers.claims import Claim, Source
from examples.papers.closed_forms import CLASSES
from examples.papers.measure import CIFAR, TINY, create, multiplications, network_count, parameters, unit, unit_count
from examples.papers.units import SETTINGS, UNITS, Unit, summed
from examples.papers.values import Counted, Derived
from mfsim.analysis.count import CountReport, paper_rows
from mfsim.analysis.listing import Cell, Listing
from mfsim.nn.attention import PRESETS
from mfsim.nn.filterbank import filters

NAME = "learned-queries"
TITLE = "Learned Queries and Keys Are All You Need (arXiv 2609.36698)"
SOURCE = Source(NAME)

BUILT = "parameters of the built network"
MINI = (
    ("qkv", "A(Q, K) V", "546,186", "76.035", "0.530"),
    ("qkk", "A(Q, K) K", "480,138", "76.155", "0.035"),
    ("qk-dctk", "A(Q, K) DCT(K)", "480,138", "76.140", "0.806"),
    ("qk-whtk", "A(Q, K) HT(K)", "480,138", "76.830", "0.764"),
    ("qk-sk", "A(Q, K) S(K)", "480,634", "77.320", "0.354"),
    ("q-sk-sk", "A(Q, S(K)) S(K)", "480,634", "77.310", "0.976"),
    ("sq-sk-k", "A(S(Q), S(K)) K", "480,634", "76.970", "1.075"),
    ("sq-sk-sk", "A(S(Q), S(K)) S(K)", "480,634", "77.145", "0.757"),
)
"""Table 2: unit, as printed, parameters, mean and standard deviation of the accuracy in percent."""

COMPACT = (
    ("C10", CIFAR, "qkv", "Softmax ViT", "81.92", "98.82", "2.694", "182.85"),
    ("C10", CIFAR, "qk-mfqk", "Normalized MF-tanh", "77.80", "98.70", "2.471", "168.47"),
    ("Tiny-IN", TINY, "qkv", "Softmax ViT", "40.39", "65.35", "2.758", "184.66"),
    ("Tiny-IN", TINY, "qk-mfqk", "Normalized MF-tanh", "35.40", "60.32", "2.536", "170.28"),
)
"""Table 3: data, unit, as printed, top-1, top-5, parameters and multiplications in millions."""


def claims() -> Iterator[Claim]:
    """Yield what the paper claims, in its order."""
    yield SOURCE.measured(
        "abstract", "better than three heads on ImageNet", "better", "the text has no experiment on ImageNet"
    )
    yield from _parameters()
    yield from _complexities()
    yield from _table2()
    yield from _table3()


def _parameters() -> Iterator[Claim]:
    width = SETTINGS[0].width
    projections = {
        name: Counted.parameters(*(getattr(unit(PRESETS[name], width), part) for part in parts), matrices=True)
        for name, parts in (("qkv", ("query", "key", "value")), ("qkk", ("query", "key")))
    }
    formula = "matrices of the built projections at d = 128, without biases and W_O"
    for name, times, printed in (("qkv", 3, "3 d^2"), ("qkk", 2, "2 d^2: only W_Q and W_K")):
        ours = projections[name]
        yield SOURCE.equal("section 2.5", f"projection parameters of {name}", printed, ours, formula, times * width**2)
    directional = Derived(len(filters(8)) - 1)
    yield SOURCE.number(
        "section 2.4", "directional filters", "30", directional, "3 scales, 5 shears, 2 cones, as they are typed here"
    )
    qkv, qkk, shearlet = (parameters("mini-vit", attention=name) for name in ("qkv", "qkk", "qk-sk"))
    for what, fewer in (("QKK, DCT, WHT", qkk), ("Shearlet", shearlet)):
        saved = qkv - fewer
        reason = f"{saved.value:,} of {qkv.value:,} parameters less"
        yield SOURCE.number(
            "section 2.5", f"reduction of Mini-ViT, {what}", "12", saved.percent_of(qkv), reason, unit="%"
        )


def _complexities() -> Iterator[Claim]:
    setting = SETTINGS[0]
    n, d, heads = setting.tokens, setting.width, setting.heads
    core, log = 3 * n * d**2 + 2 * n**2 * d, int(math.log2(d // heads))
    where, layer = "table 1", f"one layer of Mini-ViT, N = {n}, d = {d}, H = {heads}"
    reports = {name: _layer(name) for name in ("qkv", "qkk", "qk-dctk", "qk-whtk", "qk-mfqk")}
    multiplied = {name: Counted.operations(report, "mul") for name, report in reports.items()}
    products = f"multiplications of {layer}, equal to what stands in O( )"
    for name, printed, formula in (
        ("qkv", "O(4 N d^2 + 2 N^2 d)", core + n * d**2),
        ("qkk", "O(3 N d^2 + 2 N^2 d)", core),
        ("qk-dctk", "O(3 N d^2 + 2 N^2 d + N d^2 / H)", core + n * d**2 // heads),
        ("qk-mfqk", "O(3 N d^2 + 2 N^2 d)", core),
    ):
        yield SOURCE.equal(where, f"complexity of {name}", printed, multiplied[name], products, formula)
    transformed, plain = (Counted.operations(reports[name], "addsub") for name in ("qk-whtk", "qkk"))
    yield SOURCE.equal(
        where,
        "complexity of qk-whtk",
        "O(3 N d^2 + 2 N^2 d + N d log d_k)",
        multiplied["qk-whtk"] + transformed - plain,
        f"multiplications of {layer}, and the additions that the transform adds, equal to what stands in O( )",
        core + n * d * log,
    )
    yield SOURCE.unstated(
        where,
        "complexity of qk-sk",
        "O(3 N d^2 + 2 N^2 d + d N_p log N_p + H M N_p)",
        "an order of growth without constants; what a radix-2 filterbank takes is among the attention layers",
    )


def _layer(preset: str) -> CountReport:
    """Return the operations of one attention layer of Mini-ViT."""
    setting = SETTINGS[0]
    return unit_count(setting.config(Unit(NAME, preset)), setting.width, setting.tokens)


def _table2() -> Iterator[Claim]:
    for name, shown, printed, mean, deviation in MINI:
        yield SOURCE.number("table 2", f"parameters, {shown}", printed, parameters("mini-vit", attention=name), BUILT)
        a, b = two_runs(mean, deviation)
        yield SOURCE.measured(
            "table 2",
            f"accuracy, {shown}",
            f"{mean} +- {deviation} %",
            f"needs training; the printed digits are mean and sample deviation of exactly two runs, {a:.2f} and {b:.2f}",
        )


def _table3() -> Iterator[Claim]:
    removed = []
    for data, shapes, name, shown, top1, top5, printed, products in COMPACT:
        what = f"{shown} on {data}"
        count, executed = (
            parameters("compact-vit", shapes, attention=name),
            multiplications("compact-vit", shapes, name),
        )
        removed.append((count, executed))
        yield SOURCE.measured("table 3", f"top-1, {what}", f"{top1} %")
        yield SOURCE.measured("table 3", f"top-5, {what}", f"{top5} %")
        yield SOURCE.number("table 3", f"parameters, {what}", printed, count, BUILT, unit="M", scale=1e6)
        yield SOURCE.number(
            "table 3",
            f"multiplications, {what}",
            products,
            executed,
            "the rule `paper`: dense and attention products alone",
            unit="M",
            scale=1e6,
        )
    for k, data in ((0, "C10"), (2, "Tiny-IN")):
        (count, executed), (fewer, less) = removed[k], removed[k + 1]
        yield SOURCE.number("section 3", f"parameters removed on {data}", "222,336", count - fewer, "W_V of six blocks")
        yield SOURCE.number(
            "section 3",
            f"multiplications removed on {data}",
            "14.38",
            executed - less,
            "the products of W_V; those of Q K^T and A V remain",
            unit="M",
            scale=1e6,
        )
        tops = (float(COMPACT[k][4]), float(COMPACT[k + 1][4]))
        printed = {"C10": "4.12", "Tiny-IN": "4.99"}[data]
        yield SOURCE.number(
            "section 3",
            f"gap of top-1 on {data}",
            printed,
            Derived(tops[0] - tops[1]),
            "from the accuracies of table 3",
            unit="points",
        )
    for data, shapes, patch in (("C10", CIFAR, "4 x 4"), ("Tiny-IN", TINY, "8 x 8")):
        positions = create("compact-vit", shapes).get_parameter("tokens.positions")
        yield SOURCE.number(
            "section 3",
            f"tokens on {data}, patches of {patch}",
            "65",
            Counted.length(positions, 1),
            "positions of the built network, the class token too",
        )


def two_runs(mean: str, deviation: str) -> tuple[float, float]:
    """Return the two accuracies of two decimals whose mean and sample standard deviation are printed so.

    Raises
    ------
    ValueError
        If there are none.

    Examples
    --------
    >>> two_runs("76.155", "0.035")
    (76.18, 76.13)
    """
    total = round(float(mean) * 200)
    for difference in range(20000):
        if (total + difference) % 2 == 0 and f"{difference / 100 / math.sqrt(2):.3f}" == deviation:
            return (total + difference) / 200, (total - difference) / 200
    raise ValueError(f"no two runs have the mean {mean} and the deviation {deviation}")


HEADS = (4, 3, 3)
"""Of Mini-ViT, and of the compact ViT on both data sets."""


def listings() -> list[Listing]:
    """Return parameters of every unit in the three models, and where the compact ViT multiplies."""
    models = (("mini-vit", CIFAR), ("compact-vit", CIFAR), ("compact-vit", TINY))
    rows: list[tuple[Cell, ...]] = [
        (name, *(parameters(model, data, attention=_fitting(name, model)).value for model, data in models))
        for name in dict.fromkeys(of_paper.preset for of_paper in UNITS)
    ]
    combined = replace(PRESETS["qkk"], output="hadamard", hadamard_size="block")
    rows += [
        (
            name,
            *(
                parameters(model, data, heads=heads, **options).value
                for (model, data), heads in zip(models, HEADS, strict=True)
            ),
        )
        for name, options in (("qkk with hadamard-o", {"attention": combined}), ("qkv without MLP", {"mlp": "none"}))
    ]
    columns = ("unit", "mini_vit", "compact_vit_cifar10", "compact_vit_tiny_imagenet")
    return [Listing("vision_transformer_parameters", columns, tuple(rows)), *_multiplied()]


def _fitting(name: str, model: str) -> str:
    """Return the preset for a model; the transform across heads is cut into blocks where the width needs it."""
    return "hadamard-o-block" if model == "compact-vit" and name in ("hadamard-o", "hadamard-o-pow2") else name


def _multiplied() -> Iterator[Listing]:
    rows: list[tuple[Cell, ...]] = []
    transformed = ("qkv", "qkk", "qk-dctk", "qk-whtk", "qk-mfqk")
    for model, data, names in (
        ("mini-vit", CIFAR, transformed),
        ("compact-vit", CIFAR, transformed),
        ("compact-vit", TINY, ("qkv", "qk-mfqk")),
    ):
        for name in names:
            full = summed(network_count(model, data, name).online)
            shown = f"{model} {'x'.join(str(n) for n in data[0])}"
            products = multiplications(model, data, name).value
            rows.append((shown, name, products, *(full[c] for c in CLASSES), full["addsub"]))
    columns = ("model", "unit", "rule_paper", *(f"full_{name.replace(' ', '_')}" for name in CLASSES), "full_addsub")
    yield Listing("vision_transformer_multiplications", columns, tuple(rows))
    shares: dict[str, int] = {}
    for row in paper_rows(network_count("compact-vit", CIFAR, "qkv").rows):
        place = ".".join(row.layer.split(".")[2:]) or row.layer
        shares[place] = shares.get(place, 0) + row.count
    total = sum(shares.values())
    shown_shares = tuple((place, count, round(100 * count / total, 2)) for place, count in shares.items())
    yield Listing("compact_vit_shares", ("layers", "multiplications", "percent"), shown_shares)
