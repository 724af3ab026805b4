"""The page docs/papers.md: the tables and counts of the papers beside what comes out here.

`make papers` writes it; `tests/papers/test_document.py` fails while the file differs from what `text` returns.
"""

from __future__ import annotations

from examples.papers.claims import COLUMNS
from examples.papers.report import PAPERS, TABLES, PapersReport
from mfsim.cli.session import shown

LEFT_OUT = ("attention_layer_primitives",)
"""Listings that are too wide for a page; the command prints them."""

INTRODUCTION = """# The papers' tables

This page compares every table and count of four papers with what mfsim gives. The column *basis* says how our value was
found:

- *counted*: on a network or layer built for this purpose, or on the count of its operations. The configuration to build is
  entered by hand: as the paper states it, or, where it does not, as the reason says. The figure itself is never entered.
- *derived*: arithmetic on figures that the paper prints, or on a configuration entered by hand. Agreement means that the
  figures of the paper are consistent, and no more.
- *measured*: we have no value. The authors trained it or measured it on their machines.
- *unstated*: we have no value. It depends on something that the paper does not say.

The verdict follows from the printed text and our value:

- *exact*: our value rounds to the printed digits, or equals the printed formula (for an order of growth, the term in O( )).
- *within the bound*, *beyond the bound*: the paper prints a bound, such as "less than 10 %", which our value meets or not.
- *does not reproduce*: the public information leads to another number. The reason says what is known.
- *not derivable*: nothing here gives it.

`make papers` writes this page. From the root of a checkout,

    python -m examples.papers

prints the same tables. `--paper` selects one paper, `--csv` writes the tables as files, and `--json` prints them as one object
with exact integer counts. The code is in `examples/papers`, not in the wheel. The accuracies that mfsim reaches with these
units, trained and quantized, are not on this page; see [the study](attention-study.md).
"""

LAYERS = """
Each unit has up to four rows: as written (a cosine transform or a filterbank is a matrix product, Fourier magnitudes are the
fixed-point op of the integer program), *fast* (Lee's cosine transform and radix-2 Fourier transforms, counted while they run on
numbers that count), *fixed-point* (the op that a filterbank of the form `fft` becomes in the integer program: the same products,
and its roundings), and *folded* (the network that `fold_attention` returns). The multiplications by learned constants, by
activations and by fixed constants are those of the closed forms where the column says so. Additions follow the rules of mfsim:
a bias starts its accumulator, a sum that nothing starts begins with its first operand, and every weight of a softmax is a
rounded quotient.

Symmetric scores (`symmetric`, `cholesky`) are the op `gram`, which computes each dot product once. A triangular matrix is
counted without its zeros. Both hold for the program of a quantized network as well.
"""


def cell(value: object) -> str:
    """Return a cell of a Markdown table."""
    return shown(value).replace("|", "\\|")


def table(columns: tuple[str, ...], rows: tuple[tuple[object, ...], ...]) -> str:
    """Return a Markdown table; columns of numbers are right-aligned."""
    numbers = [
        any(isinstance(row[k], (int, float)) and not isinstance(row[k], bool) for row in rows)
        for k in range(len(columns))
    ]
    lines = [[name.replace("_", " ") for name in columns], ["---:" if right else "---" for right in numbers]]
    lines += [[cell(value) for value in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def text(found: PapersReport) -> str:
    """Return the page for a report on all papers."""
    totals = found.total_listing()
    parts = [INTRODUCTION, table(totals.columns, totals.rows)]
    for name, paper in PAPERS.items():
        rows = tuple(
            (claim.where, claim.what, claim.claimed, claim.value, claim.basis, claim.verdict, claim.reason)
            for claim in found.claims
            if claim.paper == name
        )
        parts += [f"## {paper.title}\n", table(COLUMNS[1:], rows)]
    for listing in found.tables:
        if listing.name in LEFT_OUT:
            continue
        parts += [f"## {TABLES[listing.name].title}\n", f"Figures: {TABLES[listing.name].basis}.\n"]
        if listing.name == "attention_layer":
            parts.append(LAYERS.lstrip("\n"))
        parts.append(table(listing.columns, listing.rows))
    return "\n".join(parts)
