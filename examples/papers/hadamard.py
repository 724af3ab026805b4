"""Structured Hadamard output projection, arXiv 2603.08343: shares of parameters, cost for each token."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from examples.papers.claims import MEASUREMENT, Claim, Source
from examples.papers.measure import module_count, parameters, unit
from examples.papers.values import Counted
from mfsim.analysis.count import CountReport
from mfsim.analysis.listing import Listing
from mfsim.nn import WHT, Affine
from mfsim.nn.attention import PRESETS

NAME = "hadamard"
TITLE = "Rethinking Attention Output Projection: Structured Hadamard Transforms (arXiv 2603.08343)"
SOURCE = Source(NAME)

VOCABULARY = 50304
WIDTHS = (256, 512, 1024, 2048, 4096)
SIZES = (
    *((256, 4), (512, 8), (512, 12), (1024, 12), (1024, 20), (1024, 24)),
    *((1024, 36), (2048, 12), (2048, 16), (2048, 24), (2048, 32), (4096, 32)),
)
"""Width and blocks; the text has no sizes of its own."""
FITTING = (1024, 24)
LARGEST = 4096


def claims() -> Iterator[Claim]:
    """Yield what the paper claims, in its order."""
    dense, transform, _ = token_costs(LARGEST)
    products, sums = Counted.operations(dense, "mul"), Counted.operations(transform, "addsub")
    yield SOURCE.number(
        "core problem",
        "parameters of W_O at 4096",
        "16",
        Counted.parameters(nn.Linear(LARGEST, LARGEST, bias=False, device="meta")),
        "millions of 2^20",
        unit="million",
        scale=2**20,
    )
    yield SOURCE.number(
        "key results",
        "attention parameters saved",
        "25",
        block_saving(LARGEST),
        f"25 % - 1 / (2 d) of the built units, here d = {LARGEST}",
        unit="%",
    )
    yield SOURCE.equal(
        "key novelty",
        "cost of W_O for each token",
        "O(d^2)",
        products,
        f"multiplications at d = {LARGEST}: d^2",
        LARGEST**2,
    )
    log = LARGEST.bit_length() - 1
    yield SOURCE.equal(
        "key novelty",
        "cost of the transform for each token",
        "O(d log d), additions and subtractions alone",
        sums,
        f"additions at d = {LARGEST}: d log2 d; gains and offsets take d multiplications and d additions more",
        LARGEST * log,
    )
    yield SOURCE.unstated(
        "key results",
        "total parameters saved",
        "7 %",
        "the text has no sizes; ours is width 1024 with 24 blocks and tied embeddings, others are in the table",
        total_saving(*FITTING, tied=True),
    )
    yield SOURCE.measured(
        "key results",
        "peak memory saved",
        "8.9 %",
        "a measurement: more than 1/12 of the weights, so activations and workspace are in it",
    )
    yield SOURCE.measured("key results", "throughput of the XXL model", "+6.6 %", MEASUREMENT)


@functools.cache
def token_costs(width: int) -> tuple[CountReport, CountReport, CountReport]:
    """Return the operations for one token of W_O, of the transform, and of the transform with gains and offsets."""
    return (
        module_count(lambda: nn.Linear(width, width, bias=False), 1, width),
        module_count(WHT, 1, width),
        module_count(lambda: nn.Sequential(WHT(), Affine(width)), 1, width),
    )


def block_saving(width: int) -> Counted:
    """Return by how many percent the parameters of an attention unit without biases shrink."""
    built = (unit(replace(PRESETS[name], bias=False), width) for name in ("qkv", "hadamard-o"))
    whole, less = (Counted.parameters(found) for found in built)
    return (whole - less).percent_of(whole)


def _total(width: int, depth: int, attention: str, tied: bool) -> Counted:
    """Return the parameters of a decoder."""
    options = {"attention": attention, "width": width, "vocabulary": VOCABULARY, "context": 1024, "tied": tied}
    return parameters("nano-gpt", depth=depth, **options)


def total_saving(width: int, depth: int, tied: bool) -> Counted:
    """Return by how many percent the parameters of a decoder shrink."""
    whole, less = (_total(width, depth, name, tied) for name in ("qkv", "hadamard-o"))
    return (whole - less).percent_of(whole)


def listings() -> list[Listing]:
    """Return savings by width and by size, and the cost for each token."""
    blocks = tuple((width, round(block_saving(width).value, 3), round(25 - 50 / width, 3)) for width in WIDTHS)
    totals = tuple(
        (
            width,
            depth,
            _total(width, depth, "qkv", True).value,
            round(total_saving(width, depth, True).value, 2),
            round(total_saving(width, depth, False).value, 2),
        )
        for width, depth in SIZES
    )
    dense, _, mixed = token_costs(LARGEST)
    cost = tuple(
        (name, *(Counted.operations(found, primitive).value for primitive in ("mul", "addsub")))
        for name, found in (("W_O", dense), ("transform", mixed))
    )
    return [
        Listing("hadamard_attention_saving", ("width", "percent", "25_minus_50_over_width"), blocks),
        Listing(
            "hadamard_total_saving", ("width", "blocks", "parameters_tied", "percent_tied", "percent_untied"), totals
        ),
        Listing("hadamard_token_cost", ("at_4096", "mul", "addsub"), cost),
    ]
