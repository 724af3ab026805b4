"""`mfsim ops`: the ops of the integer program."""

from __future__ import annotations

from mfsim.cli.options import Debug, Json
from mfsim.cli.session import session

COLUMNS = ("op", "what it does", "inputs", "primitives", "multiplies")
"""Columns of the table; README.md and docs/ops.md have the same."""


def table() -> list[tuple[str, str, str, str, str]]:
    """Return the rows of the op table, from the registry."""
    from mfsim import ops
    from mfsim.analysis.count import MULTIPLICATIONS, PRIMITIVES

    return [
        (
            op.name,
            op.summary,
            ", ".join(op.inputs),
            " ".join(p for p in PRIMITIVES if p in op.primitives) or "none",
            "yes" if op.primitives & set(MULTIPLICATIONS) else "no",
        )
        for op in ops.REGISTRY.values()
    ]


def markdown() -> str:
    """Return the op table as Markdown; a bar inside a cell is escaped."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *((f"`{row[0]}`", *row[1:]) for row in table())]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def command(json: Json = False, debug: Debug = False) -> None:
    """List the ops of the integer program: what each does and which primitives it uses.\f

    Parameters
    ----------
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as out:
        from mfsim import ops

        out.table("Ops of the integer program", COLUMNS, table())
        out.result(
            ops=[
                {
                    "name": op.name,
                    "summary": op.summary,
                    "inputs": list(op.inputs),
                    "primitives": sorted(op.primitives),
                    "realisations": sorted(op.realisations),
                    "attributes": [
                        {"name": a.name, "kind": a.kind, "doc": a.doc, "derived": a.derived, "choices": list(a.choices)}
                        for a in op.attributes
                    ],
                }
                for op in ops.REGISTRY.values()
            ]
        )
