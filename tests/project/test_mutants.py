"""The mutation run's places: what is changed, what is left alone, and that identities are stable."""

from __future__ import annotations

import textwrap

from tools.mutants.places import mutants_of

SOURCE = textwrap.dedent(
    '''
    """Words 1 < 2."""
    __all__ = ["f"]

    def f(x: tuple[int, 1], y=True):
        for k in range(3):
            if not x and k <= y:
                raise ValueError(f"{x + 1} is too low" + str(2))
        return min(x, k)

    def cases():
        return 1 + 2

    def row_cases():
        return 1 + 2
    '''
)


def changes(source):
    return [(m.operator, m.old, m.new) for m in mutants_of(source, "a.py", "ops")]


def test_every_operator_once():
    assert changes(SOURCE) == [
        ("bool", "True", "False"),
        ("constant", "3", "4"),
        ("constant", "3", "2"),
        ("bool", "not x and k <= y", "not x or k <= y"),
        ("not", "not x", "x"),
        ("compare", "k <= y", "k < y"),
        ("raise", "raise ValueError(f'{x + 1} is too low' + str(2))", "pass"),
        ("return", "return min(x, k)", "return None"),
        ("call", "min(x, k)", "max(x, k)"),
    ]


def test_only_the_place_is_changed():
    (found,) = (m for m in mutants_of("é = a < b  # said\nc = 1\n", "a.py", "ops") if m.operator == "compare")
    assert found.text == "é = (a <= b)  # said\nc = 1\n"
    assert (found.line, found.column) == (1, 5)


def test_identities_stay_when_lines_move_and_differ_within_a_file():
    source = "def f(a):\n    return a[1], a[1]\n"
    names = [m.identity for m in mutants_of(source, "a.py", "ops")]
    assert names == [m.identity for m in mutants_of("\n\n" + source, "a.py", "ops")]
    assert len(set(names)) == len(names)
    assert names[1] == "a.py f: 1 -> 2 [constant]"
    assert names[3] == "a.py f: 1 -> 2 [constant] #2"
