"""`python -m benchmarks [-k EXPRESSION] [PYTEST OPTIONS]`: measure, print every figure beside its goal, renew the tables.

The rows of what was not measured stay as they are. `-k networks` measures those of test_networks.py.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:logging", "--benchmark-columns=median,iqr,rounds")


def main() -> int:
    """Run the files `test_*.py`, then tools/write_tables.py; return the exit status."""
    status = pytest.main([str(FOLDER), *OPTIONS, *sys.argv[1:]])
    subprocess.run([sys.executable, FOLDER.parent / "tools" / "write_tables.py"], check=True)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
