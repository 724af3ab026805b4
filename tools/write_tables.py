"""Renew the generated tables of README.md and docs/ops.md from the op registry.

`tests/project/test_tables.py` fails while a file differs from what this writes.
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/ops.md")
BLOCK = re.compile(r"(<!-- ops: begin [^\n]*-->\n).*?(<!-- ops: end -->)", re.DOTALL)


def renewed(text: str, table: str) -> str:
    """Return `text` with `table` between the marks of its op table; there must be one pair of them."""
    new, count = BLOCK.subn(lambda match: f"{match[1]}\n{table}\n{match[2]}", text)
    if count != 1:
        sys.exit("the marks `<!-- ops: begin ... -->` and `<!-- ops: end -->` must stand in the file once")
    return new


def main() -> None:
    """Write the files."""
    sys.path.insert(0, str(ROOT))
    from mfsim.cli.ops import markdown

    for name in FILES:
        path = ROOT / name
        path.write_text(renewed(path.read_text(encoding="utf-8"), markdown()), encoding="utf-8")


if __name__ == "__main__":
    main()
