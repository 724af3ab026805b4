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

Every table and count of four papers, beside what comes out here. The column *basis* says how our value was found:

- *counted*: on a network or layer that is built for it, or on the count of its operations. The configuration that is built
  is typed, as the paper states it or, where it does not, as the reason says; the figure itself is typed nowhere.
- *derived*: arithmetic on figures that the paper prints, or on a configuration that is typed here. Agreement says that the
  paper's figures fit each other, and no more.
- *measured*: there is no value of ours. The authors trained it or took it on their machines.
- *unstated*: there is no value of ours. It depends on something that the paper does not say.

The verdict follows from the printed text and our value:

- *exact*: our value rounds to the printed digits, or is equal to the printed formula (to what stands in O( ) of an order of
  growth).
- *within the bound*, *beyond the bound*: the paper prints a bound, such as "less than 10 %", which our value keeps or not.
- *does not reproduce*: what is public leads to another number; the reason says what is known.
- *not derivable*: nothing here gives it.

`make papers` writes this page. From the root of a checkout,

    python -m examples.papers

prints the same tables. `--paper` takes one paper, `--csv` writes the tables as files, `--json` prints them as one object
whose counts are whole numbers. It lies in `examples/papers`, not in the wheel. The accuracies that these units reach here, trained and
quantized, are another matter and are not on this page.
"""

LAYERS = """
Units stand in four ways: as they are written (a cosine transform or a filterbank is a matrix product, Fourier
magnitudes are the fixed-point op of the integer program), *fast* (Lee's cosine transform, radix-2 Fourier transforms,
counted while they run on numbers that count), *fixed-point* (the op of the integer program that a filterbank of the form
`fft` becomes: the same products, and its roundings), and *folded* (the network of `fold_attention`, counted as the network
that it is). Multiplications by learned constants, by activations and by fixed constants are those of the closed forms where
the column says so. Additions follow the rules of mfsim: a bias starts its accumulator, a sum that nothing starts begins
with its first operand, every weight of a softmax is a rounded quotient.

Symmetric scores (`symmetric`, `cholesky`) are the op `gram`, which computes each dot product once. A triangular matrix is
counted without its zeros. So are both in the program of a quantized network.
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
