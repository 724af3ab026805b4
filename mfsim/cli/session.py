"""What every command shares: where it writes, how it shows progress, and how it ends.

Exit status: 0 it worked; 1 a check failed or a limit was passed; 2 the input or the command line is
wrong; 3 an error of mfsim itself; 130 interrupted. An error is one sentence on stderr, without a
traceback unless `--debug` asks for it. With `--json`, stdout holds one JSON object and nothing else:
whatever a library prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mfsim.errors import CountError, FailedPointsError, MfsimError, ParityError

if TYPE_CHECKING:
    from mfsim.analysis.listing import Listing

PIPE_WIDTH = 160
"""Columns of a table that does not go to a terminal."""

Progress = Callable[[int, int], None]
"""What a long step calls with (done, total)."""

Stages = Callable[[str, int, int], None]
"""What several steps call with (what is done, done, total)."""


class Session:
    """Where one run of a command writes.

    Tables and sentences go to stdout for a person; with `json` they are left out and `result` is
    printed at the end instead. Progress goes to stderr, and only to a terminal.
    """

    def __init__(self, json: bool, stdout: TextIO, stderr: TextIO) -> None:
        self.json = json
        self._stdout = stdout
        self._out = Console(
            file=stdout, width=None if stdout.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=False
        )
        self._err = Console(file=stderr, highlight=False, soft_wrap=True)
        self._result: dict[str, object] = {}

    def result(self, **entries: object) -> None:
        """Add entries to the object that `--json` prints."""
        self._result.update(entries)

    def say(self, sentence: str, style: str = "") -> None:
        """Print a sentence for a person.

        Parameters
        ----------
        sentence : str
            Plain text.
        style : str
            Style of rich, such as "green"; "" for none.
        """
        if not self.json:
            self._out.print(Text(sentence, style), soft_wrap=True)

    def complain(self, sentence: str) -> None:
        """Print a sentence on stderr.

        Parameters
        ----------
        sentence : str
            Plain text.
        """
        self._err.print(Text("mfsim: ", "bold red") + Text(sentence))

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table for a person; numbers are right-aligned and None is a dash.

        Parameters
        ----------
        title : str
            Title.
        columns : sequence of str
            Column titles.
        rows : iterable of sequence of object
            Cells of each row, as many as there are columns.
        """
        if self.json:
            return
        rows = [list(row) for row in rows]
        table = Table(title=Text(title, "bold"), title_justify="left", header_style="bold", pad_edge=False)
        for index, column in enumerate(columns):
            cells = [row[index] for row in rows]
            right = any(isinstance(cell, (int, float)) for cell in cells)
            table.add_column(Text(column), justify="right" if right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(shown(cell)) for cell in row))
        self._out.print(table)

    def listing(self, listing: Listing, title: str = "") -> None:
        """Print a listing of an analysis as a table.

        Parameters
        ----------
        listing : Listing
            Table of an analysis.
        title : str
            Title; the listing's name where it is "".
        """
        self.table(
            title or listing.name.replace("_", " "), [c.replace("_", " ") for c in listing.columns], listing.rows
        )

    def side_by_side(self, listing: Listing, title: str) -> None:
        """Print a listing with one column for each of its rows, for few rows of many quantities; accuracies in percent.

        Parameters
        ----------
        listing : Listing
            Table; its first column becomes the head.
        title : str
            Title.
        """
        columns = [[_percent(name, row[k]) for row in listing.rows] for k, name in enumerate(listing.columns)]
        rows = [(name.replace("_", " "), *cells) for name, cells in zip(listing.columns, columns, strict=True)]
        self.table(title, [str(cell) for cell in rows[0]], rows[1:])

    @contextlib.contextmanager
    def stages(self, title: str) -> Iterator[Stages]:
        """Show a bar while the body runs; yields what a step calls with (what it does, done, total).

        Parameters
        ----------
        title : str
            Text in front of the bar.

        Yields
        ------
        callable of (str, int, int)
            Moves the bar; does nothing where there is none.
        """
        if self.json or not self._err.is_terminal:
            yield lambda what, done, total: None
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._err, transient=True) as bar:
            task = bar.add_task(title, total=None)

            def show(what: str, done: int, total: int) -> None:
                bar.update(task, description=escape(f"{title}: {what}"), completed=done, total=total)

            yield show

    @contextlib.contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """Show a bar while the body runs; yields what a step calls with (done, total).

        Parameters
        ----------
        title : str
            Text in front of the bar.

        Yields
        ------
        callable of (int, int)
            Moves the bar; does nothing where there is none.
        """
        with self.stages(title) as show:
            yield lambda done, total: show("", done, total)

    def close(self) -> None:
        """Print the JSON object, if that is wanted."""
        if self.json:
            self._stdout.write(json.dumps(self._result, indent=1, allow_nan=False) + "\n")
            self._stdout.flush()


def _percent(column: str, cell: object) -> object:
    return f"{cell:.2%}" if column.endswith("accuracy") and isinstance(cell, float) else cell


def shown(cell: object) -> str:
    """Return a cell of a table as text.

    Parameters
    ----------
    cell : object
        Value of a cell.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> [shown(c) for c in (1234567, 0.25, None, True, (8, 8))]
    ['1,234,567', '0.25', '-', 'yes', '8 8']
    """
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, (tuple, list)):
        return " ".join(shown(part) for part in cell)
    return str(cell)


def failure(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit status for an error.

    Parameters
    ----------
    error : BaseException
        What a command has raised.

    Returns
    -------
    str
        Sentence on one line.
    int
        1 for a result that is not as required, 2 for an error of the user, 3 for an unexpected one, 130
        for an interrupt.
    """
    sentence = " ".join(str(error).split())
    if isinstance(error, (CountError, FailedPointsError, ParityError)):
        return sentence, 1
    if isinstance(error, MfsimError):
        return sentence, 2
    if isinstance(error, OSError):
        return f"`{error.filename}`: {error.strerror}" if error.filename else sentence or type(error).__name__, 2
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    return f"unexpected {type(error).__name__}: {sentence or 'no message'}; `--debug` shows where", 3


@contextlib.contextmanager
def session(json: bool, debug: bool) -> Iterator[Session]:
    """Run the body of a command; whatever it raises ends the program with a sentence and an exit status.

    Parameters
    ----------
    json : bool
        Whether stdout holds one JSON object and nothing else.
    debug : bool
        Whether errors are raised as they are, with warnings shown.

    Yields
    ------
    Session
        Where the command writes to.

    Raises
    ------
    typer.Exit
        If the body raises an error and `debug` is not set.
    """
    out = Session(json, sys.stdout, sys.stderr)
    try:
        with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext(), warnings.catch_warnings():
            if not debug:
                warnings.simplefilter("ignore")
            if os.getcwd() not in sys.path:  # for --model package.module:callable; last, so that it shadows nothing
                sys.path.append(os.getcwd())
            yield out
    except (typer.BadParameter, BrokenPipeError):
        raise
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        sentence, status = failure(error)
        out.complain(sentence)
        out.result(error=sentence, kind=type(error).__name__)
        out.close()
        raise typer.Exit(status) from None
    out.close()
