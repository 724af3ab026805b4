"""How commands end: sentences, exit status, JSON."""

from __future__ import annotations

import io
import json
import sys

import pytest
import typer

from mfsim.analysis.listing import Listing
from mfsim.cli.session import failure, session
from mfsim.errors import CountError, MfsimError, ModelError, ParityError

ENDS = [
    (ModelError("`x.onnx` is empty"), "`x.onnx` is empty", 2),
    (MfsimError("`x` cannot be written"), "`x` cannot be written", 2),
    (ParityError("3 codes differ"), "3 codes differ", 1),
    (CountError("node `a` multiplies"), "node `a` multiplies", 1),
    (PermissionError(13, "Permission denied", "x/y"), "`x/y`: Permission denied", 2),
    (KeyboardInterrupt(), "interrupted", 130),
    (
        ZeroDivisionError("division\n by zero"),
        "unexpected ZeroDivisionError: division by zero; `--debug` shows where",
        3,
    ),
    (AssertionError(), "unexpected AssertionError: no message; `--debug` shows where", 3),
]


@pytest.mark.parametrize(("error", "sentence", "status"), ENDS, ids=lambda value: type(value).__name__)
def test_every_error_is_one_sentence_and_a_status(error, sentence, status, capsys):
    assert failure(error) == (sentence, status)
    with pytest.raises(typer.Exit) as ended, session(json=False, debug=False):
        raise error
    assert ended.value.exit_code == status
    assert capsys.readouterr() == ("", f"mfsim: {sentence}\n")


def test_debug_lets_the_error_through():
    with pytest.raises(ZeroDivisionError), session(json=False, debug=True):
        raise ZeroDivisionError


def test_json_has_stdout_for_itself(capsys):
    with session(json=True, debug=False) as out:
        print("a library that prints")
        out.say("a sentence")
        out.table("a table", ["column"], [[1]])
        out.result(total=3)
        with out.progress("work") as progress:
            progress(1, 2)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"total": 3}
    assert shown.err == "a library that prints\n"


def test_json_keeps_results_and_says_why_it_failed(capsys):
    def count():
        with session(json=True, debug=False) as out:
            out.result(total=3)
            raise CountError("node `a` multiplies")

    with pytest.raises(typer.Exit):
        count()
    expected = {"total": 3, "error": "node `a` multiplies", "kind": "CountError"}
    assert json.loads(capsys.readouterr().out) == expected


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("as_json", "stream", "bar"), [(False, Terminal, True), (False, io.StringIO, False), (True, Terminal, False)]
)
def test_a_bar_is_for_terminals_only(monkeypatch, as_json, stream, bar):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setenv("TERM", "xterm")
    with session(json=as_json, debug=False) as out, out.stages("demo") as stages:
        stages("train [1]", 1, 2)
    assert ("train [1]" in sys.stderr.getvalue()) is bar


def test_brackets_in_names_are_no_markup(capsys):
    with session(json=False, debug=False) as out:
        out.table("[bold]", ["[red]"], [["layers[0]"], [None]])
        out.say("layers[0]")
    shown = capsys.readouterr().out
    assert "[bold]" in shown
    assert "[red]" in shown
    assert shown.count("layers[0]") == 2


def test_few_rows_of_many_quantities_stand_side_by_side(capsys):
    listing = Listing(
        "networks", ("network", "float_accuracy", "weight_codes"), (("a", 0.25, 1234), ("b", None, 5), ("c", 1.0, 6))
    )
    with session(json=False, debug=False) as out:
        out.side_by_side(listing, "Networks")
    lines = [line.replace("│", " ").replace("┃", " ").split() for line in capsys.readouterr().out.splitlines()]
    assert ["network", "a", "b", "c"] in lines
    assert ["float", "accuracy", "25.00%", "-", "100.00%"] in lines
    assert ["weight", "codes", "1,234", "5", "6"] in lines
