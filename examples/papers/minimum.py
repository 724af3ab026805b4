"""Reducing the Transformer Architecture to a Minimum, arXiv 2410.13732: formulas, shares, totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from examples.papers.claims import Claim, Source
from examples.papers.measure import MNIST, create, parameters, unit
from examples.papers.values import Counted, Derived
from mfsim.analysis.listing import Cell, Listing
from mfsim.nn import TriangularLinear
from mfsim.nn.attention import PRESETS
from mfsim.nn.models.layers import make_mlp

NAME = "minimum"
TITLE = "Reducing the Transformer Architecture to a Minimum (arXiv 2410.13732)"
SOURCE = Source(NAME)

WIDTH, MULTIPLE = 64, 4
"""Width and MLP multiple h of the formulas' examples; the paper's own widths are in no public copy."""
TOTALS = (
    ("6 encoders with MLP", "287,686", {"depth": 6, "mlp": "gelu"}),
    ("6 encoders without MLP", "101,470", {"depth": 6, "mlp": "none"}),
    ("12 encoders with MLP", "563,242", {"depth": 12, "mlp": "gelu"}),
    ("12 encoders without MLP", "198,100", {"depth": 12, "mlp": "none"}),
)
EXAMPLES = {"MNIST": 60_000, "CIFAR-10": 50_000}
CLASSES = 10
SHARES = (
    ("qkv", "unchanged"),
    ("symmetric", "symmetric"),
    ("wqk", "W_Q and W_K collapsed"),
    ("collapsed-vo", "W_Q and W_K, W_V and W_O collapsed"),
    ("wqk-novo", "minimum"),
)


def matrices(preset: str, encoders: int = 1, mlp: bool = False) -> Counted:
    """Return the entries of all matrices of `encoders` encoders, biases and norms left out."""
    parts: list[nn.Module] = []
    for _ in range(encoders):
        parts += [unit(replace(PRESETS[preset], bias=False), WIDTH), *([_mlp()] if mlp else [])]
    return Counted.parameters(*parts, matrices=True)


def _mlp() -> nn.Module:
    inner = make_mlp("gelu", WIDTH, MULTIPLE * WIDTH)
    assert inner is not None
    return inner


def total(**options: object) -> Counted:
    """Return the parameters of `min-transformer` on MNIST with unchanged attention."""
    return parameters("min-transformer", MNIST, attention="qkv", **options)


def claims() -> Iterator[Claim]:
    """Yield what the paper claims, in its order."""
    yield from _formulas()
    yield from _totals()
    yield from _shares()
    for where, what in (
        ("table 1", "losses and accuracies of 16 experiments"),
        ("table 2", "losses and accuracies on MNIST"),
        ("table 3", "losses and accuracies on CIFAR-10"),
    ):
        yield SOURCE.measured(
            where, what, "in the table", "needs training; the tables are in no stored copy of the text"
        )
    yield SOURCE.measured(
        "conclusions", "computing time saved", "in proportion to parameters", "a measurement on the authors' machines"
    )


def _formulas() -> Iterator[Claim]:
    where, example = "section 3", f"matrices of the built units at N = {WIDTH}"
    for encoders in (6, 12):
        stack = create(
            "min-transformer",
            MNIST,
            attention=replace(PRESETS["chained-vo"], bias=False),
            depth=encoders,
            residual=False,
            norm="none",
        )
        chained = Counted.parameters(stack.get_submodule("blocks"), stack.get_submodule("chained"))
        for what, printed, ours, formula in (
            ("attention", "4 S N^2", matrices("qkv", encoders), 4 * encoders * WIDTH**2),
            ("W_QK and W_VO", "2 S N^2", matrices("collapsed-vo", encoders), 2 * encoders * WIDTH**2),
            ("W_QK and one W_VO", "(S + 1) N^2", chained, (encoders + 1) * WIDTH**2),
        ):
            shown = f"{what}, S = {encoders}"
            yield SOURCE.equal(where, shown, printed, ours, f"{example}, H = 1, without biases", formula)
        yield SOURCE.bound(
            where,
            f"share of W_QK and one W_VO, S = {encoders}",
            "slightly more than 25 %",
            chained.percent_of(matrices("qkv", encoders)),
            "(S + 1) / 4 S, from the built stack; how much is slightly the paper does not say",
        )
    yield SOURCE.equal(
        "section 5",
        "a triangular similarity",
        "N (N + 1) / 2",
        Counted.parameters(TriangularLinear(WIDTH)),
        f"the built layer at N = {WIDTH}",
        WIDTH * (WIDTH + 1) // 2,
    )
    yield SOURCE.equal(
        "conclusions",
        "MLP",
        "2 h N^2 + h N + N",
        Counted.parameters(_mlp()),
        f"the built MLP at N = {WIDTH}, h = {MULTIPLE}",
        2 * MULTIPLE * WIDTH**2 + MULTIPLE * WIDTH + WIDTH,
    )
    times = Counted.parameters(_mlp(), matrices=True) / matrices("qkv")
    yield SOURCE.number("conclusions", "MLP over attention at h = 4", "2", times, "matrices of the built parts")


def _totals() -> Iterator[Claim]:
    printed = {what: int(text.replace(",", "")) for what, text, _ in TOTALS}
    encoder = (printed["12 encoders without MLP"] - printed["6 encoders without MLP"]) // 6
    no_vit = (
        f"the printed totals grow by {encoder:,} for an encoder without MLP, an odd number, which no attention of even "
        f"width has; ours is width {WIDTH}, patches of 7 on MNIST, learned positions, the mean of the tokens"
    )
    for what, text, options in TOTALS:
        yield SOURCE.number("section 6", f"parameters, {what}", text, total(**options), no_vit)
    baseline, deeper = printed["6 encoders with MLP"], printed["12 encoders with MLP"]
    ratio = Derived(EXAMPLES["MNIST"] * CLASSES / baseline)
    yield SOURCE.number(
        "section 6.1",
        "Q = K M / P of the original on MNIST",
        "1",
        ratio,
        f"K M = 600,000 over the printed {baseline:,} of 6 encoders; the {deeper:,} of 12 would give "
        f"{EXAMPLES['MNIST'] * CLASSES / deeper:.3f}",
        unit="(close to unity)",
    )


def _shares() -> Iterator[Claim]:
    whole, smallest = matrices("qkv", mlp=True), matrices("wqk-novo")
    why = f"matrices of one encoder, h = {MULTIPLE}, against the unchanged one with MLP"
    yield SOURCE.number("conclusions", "left without MLP", "33", matrices("qkv").percent_of(whole), why, unit="%")
    yield SOURCE.number(
        "section 6.1", "symmetric without MLP", "25", matrices("symmetric").percent_of(whole), why, unit="%"
    )
    yield SOURCE.number(
        "section 6.1",
        "collapsed matrices without MLP",
        "33",
        matrices("wqk").percent_of(whole),
        "one of four matrices goes, as in the symmetric variant; a third is what the unchanged attention without MLP leaves",
        unit="%",
    )
    least, original = parameters("min-transformer", MNIST, attention="wqk-novo"), total(depth=6, mlp="gelu")
    left, saved = least.percent_of(original).value, (original - least).percent_of(original).value
    yield SOURCE.bound(
        "conclusions",
        "minimum without MLP",
        "less than 10 %",
        smallest.percent_of(whole),
        f"{why}; of whole networks of width {WIDTH} {left:.2f} % are left, which is beyond it",
    )
    yield SOURCE.bound(
        "abstract",
        "parameters saved",
        "up to 90 %",
        (whole - smallest).percent_of(whole),
        f"{why}: more than the paper says; whole networks of width {WIDTH} save {saved:.2f} %, which is within it",
    )
    built = f"built networks of width {WIDTH}, with embedding, positions, norms and head"
    for where, what, depth, printed in (
        ("section 6.2", "minimum, share of the original with MLP (a tenth)", 6, "10"),
        ("conclusions", "minimum of 6 encoders, share of 12 unchanged ones with MLP", 12, "5"),
    ):
        ours = least.percent_of(total(depth=depth, mlp="gelu"))
        yield SOURCE.number(where, what, printed, ours, built, unit="%")
    for where, what, preset, base, printed in (
        ("section 3", "attention parameters saved by W_QK and W_VO", "collapsed-vo", "qkv", "50"),
        ("conclusions", "attention parameters saved without W_V and W_O, on collapsed W_QK", "wqk-novo", "qkv", "75"),
    ):
        fewer = (matrices(base) - matrices(preset)).percent_of(matrices(base))
        yield SOURCE.number(where, what, printed, fewer, "matrices of the built units", unit="%")
    pairs = {name: _scores_part(name) for name in ("qkv", "symmetric", "wqk")}
    for where, what, name in (
        ("conclusions", "query and key parameters saved by symmetry", "symmetric"),
        ("conclusions", "query and key parameters saved by collapsing", "wqk"),
    ):
        fewer = (pairs["qkv"] - pairs[name]).percent_of(pairs["qkv"])
        yield SOURCE.number(where, what, "50", fewer, "matrices of the built units", unit="%")


def _scores_part(preset: str) -> Counted:
    """Return the entries of the matrices of queries and keys."""
    built = unit(replace(PRESETS[preset], bias=False), WIDTH)
    return Counted.parameters(*(part for part in (built.query, built.key) if part is not None))


def listings() -> list[Listing]:
    """Return our defaults beside the printed totals, overdetermination, and the variants."""
    defaults = tuple(
        (
            what,
            int(text.replace(",", "")),
            total(**options).value,
            round(100 * (total(**options).value / int(text.replace(",", "")) - 1), 1),
        )
        for what, text, options in TOTALS
    )
    ratios: tuple[tuple[Cell, ...], ...] = tuple(
        (what, text, *(round(examples * CLASSES / int(text.replace(",", "")), 3) for examples in EXAMPLES.values()))
        for what, text, _ in TOTALS
    )
    whole = matrices("qkv", mlp=True)
    variants = tuple(
        (name, what, matrices(name).value, round(float(matrices(name).percent_of(whole).value), 2))
        for name, what in SHARES
    )
    return [
        Listing("minimum_totals", ("network", "printed", "ours", "percent_more"), defaults),
        Listing("minimum_overdetermination", ("network", "printed_parameters", "mnist", "cifar10"), ratios),
        Listing(
            "minimum_variants", ("unit", "variant", "matrices_without_mlp", "percent_of_unchanged_with_mlp"), variants
        ),
    ]
