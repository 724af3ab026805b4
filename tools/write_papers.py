"""Write docs/papers.md: the tables and counts of the papers beside what comes out here, from `mfsim.papers`.

`tests/papers/test_document.py` fails while the file differs from what this writes.
"""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "papers.md"
LEFT_OUT = ("attention_layer_primitives",)
"""Listings that are too wide for a page; the command prints them."""

INTRODUCTION = """# The papers' tables

Every table and count of four papers, beside what is built and counted here. Nothing in the column *ours* is typed:
networks are built without memory for their weights, and counted from shapes. The verdict follows from the two numbers:

- *exact*: our value rounds to the printed digits, or satisfies the printed formula or bound.
- *not derivable*: no arithmetic gives it; it needs training, or measures the authors' machines, or depends on sizes that
  the paper does not state.
- *does not reproduce*: what is public leads to another number; the reason says what is known.

This page is written by `python tools/write_papers.py` from what

    mfsim papers

prints. `--paper` takes one paper, `--csv` writes the tables as files, `--json` prints them as one object whose counts are
whole numbers. The accuracies that these units reach here, trained and quantized, are another matter and are not on this
page.
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
    from mfsim.cli.session import shown

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


def text(found: object) -> str:
    """Return the page for a `PapersReport`."""
    from mfsim.papers import PAPERS, TITLES, PapersReport

    assert isinstance(found, PapersReport)
    parts = [INTRODUCTION, ", ".join(f"{count} {verdict}" for verdict, count in found.verdicts().items()) + ".\n"]
    for name, paper in PAPERS.items():
        rows = tuple(
            (claim.where, claim.what, claim.claimed, claim.ours, claim.verdict, claim.reason)
            for claim in found.claims
            if claim.paper == name
        )
        parts += [f"## {paper.title}\n", table(("where", "what", "claimed", "ours", "verdict", "reason"), rows)]
    for listing in found.tables:
        if listing.name in LEFT_OUT:
            continue
        parts.append(f"## {TITLES[listing.name]}\n")
        if listing.name == "attention_layer":
            parts.append(LAYERS.lstrip("\n"))
        parts.append(table(listing.columns, listing.rows))
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    sys.path.insert(0, str(ROOT))
    from mfsim.papers import report

    FILE.write_text(text(report()), encoding="utf-8")


if __name__ == "__main__":
    main()
