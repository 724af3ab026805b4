"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and warnings.")]
