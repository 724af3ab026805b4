"""`python -m mfsim`: the command line."""

from __future__ import annotations

from mfsim.cli.app import main

if __name__ == "__main__":
    main()
