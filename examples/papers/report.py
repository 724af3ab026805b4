"""`PapersReport`: claims and tables of the papers, beside what the code here gives."""

from __future__ import annotations

import os
import pathlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from examples.papers import hadamard, keyless, learned_queries, minimum
from examples.papers.claims import COLUMNS, VERDICTS, Claim
from examples.papers.closed_forms import difference_listing, primitive_listing, unit_listing
from examples.papers.units import UNITS, primitive_counts
from examples.papers.values import BASES
from mfsim.analysis.listing import Listing, write_listings
from mfsim.analysis.tabular import Tabular
from mfsim.display import counted
from mfsim.errors import MfsimError, did_you_mean


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


@dataclass(frozen=True)
class Table:
    """What a listing shows, and how its figures were found."""

    title: str
    basis: str


TABLES: Mapping[str, Table] = {
    "totals": Table("Claims by how our value was found, and by verdict", "numbers of claims"),
    "claims": Table("Claims of the papers", "each row says it"),
    "vision_transformer_parameters": Table("Parameters of the vision transformers, by attention unit", "counted"),
    "vision_transformer_multiplications": Table(
        "Multiplications of the vision transformers: rule paper, and all by class", "counted"
    ),
    "compact_vit_shares": Table(
        "Where the compact vision transformer multiplies (qkv, 3 x 32 x 32, rule paper)", "counted"
    ),
    "qwen2_cache_bytes": Table(
        "Bytes of the cache of Qwen2-1.5B, 16 bits for each value", "derived: arithmetic on the typed configuration"
    ),
    "decode_steps": Table(
        "One decoded token: operations of one layer, bytes of all caches (Qwen2-1.5B, 16 bits, units folded)",
        "operations are counted; bytes are derived: arithmetic on the typed configuration",
    ),
    "keyless_parameters": Table("Parameters of depths of factorization, trained and fused", "counted"),
    "minimum_totals": Table(
        "Printed totals beside our encoders (width 64, MNIST)", "ours is counted, the difference is against the print"
    ),
    "minimum_overdetermination": Table(
        "Q = K M / P of the printed totals", "derived: arithmetic on the printed totals"
    ),
    "minimum_variants": Table(
        "Matrices of one encoder without MLP (width 64), share of the unchanged one with MLP", "counted"
    ),
    "hadamard_attention_saving": Table(
        "Parameters of an attention unit that the transform saves", "counted; the last column is a formula"
    ),
    "hadamard_total_saving": Table(
        "Parameters of a decoder that the transform saves (SwiGLU of 8/3, vocabulary 50304)", "counted"
    ),
    "hadamard_token_cost": Table("Cost of the output projection for one token", "counted"),
    "attention_layer": Table(
        "One attention layer (65 tokens, W_O included), beside closed forms",
        "counted, one fast transform times their number; the column of closed forms is formulas",
    ),
    "attention_layer_differences": Table(
        "Where its counts differ from closed forms, and why", "counted, less the closed forms"
    ),
    "attention_layer_primitives": Table(
        "Every operation of one attention layer", "counted, one fast transform times their number"
    ),
    "transforms": Table("Transforms, counted while they run", "counted"),
}
"""Every listing of a report by name."""


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

    def totals(self) -> dict[str, dict[str, int]]:
        """Return the number of claims by how our value was found, and by verdict."""
        found = Counter((claim.basis, claim.verdict) for claim in self.claims)
        return {basis: {verdict: found[basis, verdict] for verdict in VERDICTS} for basis in BASES}

    def summary(self) -> str:
        """Return the totals as a sentence: "counted: 4 exact; measured: 2 not derivable"."""
        parts = []
        for basis, verdicts in self.totals().items():
            shown = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items() if number)
            if shown:
                parts.append(f"{basis}: {shown}")
        return "; ".join(parts)

    def total_listing(self) -> Listing:
        """Return the totals as a listing."""
        columns = ("basis", *(verdict.replace(" ", "_") for verdict in VERDICTS))
        return Listing("totals", columns, tuple((basis, *row.values()) for basis, row in self.totals().items()))

    def headline(self) -> str:
        """Return how many papers and claims there are."""
        return f"{counted(len(self.papers), 'paper')}, {counted(len(self.claims), 'claim')}"

    def claim_listing(self) -> Listing:
        """Return the claims as a listing."""
        return Listing("claims", COLUMNS, tuple(claim.row() for claim in self.claims))

    def listings(self) -> list[Listing]:
        """Return every table, totals and claims first."""
        return [self.total_listing(), self.claim_listing(), *self.tables]

    def to_json(self) -> dict[str, object]:
        """Return the whole report as `json.dumps` takes it; counts are plain ints."""
        titles = {name: PAPERS[name].title for name in self.papers}
        tables = {listing.name: listing.records() for listing in self.listings()}
        basis = {name: TABLES[name].basis for name in tables}
        return {"papers": titles, "basis": basis, **tables}

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
