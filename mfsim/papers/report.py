"""`PapersReport`: claims and tables of the papers, beside what the code here gives."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.errors import MfsimError, did_you_mean
from mfsim.papers import hadamard, keyless, learned_queries, minimum
from mfsim.papers.claim import COLUMNS, VERDICTS, Claim
from mfsim.papers.primitives import primitive_counts
from mfsim.papers.unit_tables import difference_listing, primitive_listing, unit_listing
from mfsim.papers.units import UNITS


@dataclass(frozen=True)
class Paper:
    """A paper: its title, what it claims, and its own tables."""

    title: str
    claims: Callable[[], Iterator[Claim]]
    listings: Callable[[], list[Listing]]


PAPERS: Mapping[str, Paper] = {
    module.NAME: Paper(module.TITLE, module.claims, module.listings)
    for module in (learned_queries, keyless, minimum, hadamard)
}
"""The papers by name."""

TITLES = {
    "claims": "Claims of the papers",
    "vision_transformer_parameters": "Parameters of the vision transformers, by attention unit",
    "vision_transformer_multiplications": "Multiplications of the vision transformers: rule paper, and all by class",
    "compact_vit_shares": "Where the compact vision transformer multiplies (qkv, 3 x 32 x 32, rule paper)",
    "qwen2_cache_bytes": "Bytes of the cache of Qwen2-1.5B, 16 bits for each value",
    "decode_steps": "One decoded token: operations of one layer, bytes of all caches (Qwen2-1.5B, 16 bits, units folded)",
    "keyless_parameters": "Parameters of depths of factorization, trained and fused",
    "minimum_totals": "Printed totals beside our encoders (width 64, MNIST)",
    "minimum_overdetermination": "Q = K M / P of the printed totals",
    "minimum_variants": "Matrices of one encoder without MLP (width 64), share of the unchanged one with MLP",
    "hadamard_attention_saving": "Parameters of an attention unit that the transform saves",
    "hadamard_total_saving": "Parameters of a decoder that the transform saves (SwiGLU of 8/3, vocabulary 50304)",
    "hadamard_token_cost": "Cost of the output projection for one token",
    "attention_layer": "One attention layer (65 tokens, W_O included), beside closed forms",
    "attention_layer_differences": "Where its counts differ from closed forms, and why",
    "attention_layer_primitives": "Every operation of one attention layer",
    "transforms": "Transforms, counted while they run",
}
"""What each listing shows, by name."""


@dataclass(frozen=True, repr=False)
class PapersReport(Tabular):
    """What the papers claim and what comes out here.

    Attributes
    ----------
    papers : names, keys of `PAPERS`.
    claims : every claim, in the order of the papers.
    tables : parameters, multiplications, attention layers by unit and more; `name` is the stem of a CSV file.
    """

    papers: tuple[str, ...]
    claims: tuple[Claim, ...]
    tables: tuple[Listing, ...]

    def verdicts(self) -> dict[str, int]:
        """Return the number of claims by verdict."""
        return {verdict: sum(claim.verdict == verdict for claim in self.claims) for verdict in VERDICTS}

    def headline(self) -> str:
        """Return how many papers and claims there are."""
        return f"{counted(len(self.papers), 'paper')}, {counted(len(self.claims), 'claim')}"

    def claim_listing(self) -> Listing:
        """Return the claims as a listing."""
        rows = tuple(tuple(getattr(claim, name) for name in COLUMNS) for claim in self.claims)
        return Listing("claims", COLUMNS, rows)

    def listings(self) -> list[Listing]:
        """Return every table, the claims first."""
        return [self.claim_listing(), *self.tables]

    def to_json(self) -> dict[str, object]:
        """Return the whole report as `json.dumps` takes it; counts are plain ints."""
        titles = {name: PAPERS[name].title for name in self.papers}
        tables = {listing.name: listing.records() for listing in self.listings()}
        return {"papers": titles, "verdicts": self.verdicts(), **tables}

    def write_csv(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Write each listing as a CSV file into `folder` and return the paths."""
        return write_listings(self.listings(), folder)


def report(papers: Sequence[str] = tuple(PAPERS)) -> PapersReport:
    """Return what `papers` claim beside what is counted and built here; seconds, and no training.

    Raises
    ------
    MfsimError
        If there is no such paper.
    """
    for name in papers:
        if name not in PAPERS:
            raise MfsimError(f"`paper` must be one of {', '.join(PAPERS)}, not {name!r}{did_you_mean(name, PAPERS)}")
    claims = tuple(claim for name in papers for claim in PAPERS[name].claims())
    units = [unit for unit in UNITS if unit.paper in papers]
    tables = [listing for name in papers for listing in PAPERS[name].listings()]
    layers = [unit_listing(units), difference_listing(units), primitive_listing(units)]
    return PapersReport(tuple(papers), claims, (*tables, *layers, primitive_counts()))
