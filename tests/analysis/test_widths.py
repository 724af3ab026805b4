"""Words, proved and observed ranges."""

from __future__ import annotations

import json

import pytest

from mfsim.analysis import widths
from mfsim.analysis.widths import bits_of
from mfsim.errors import RangeError
from mfsim.ir.formats import Format
from tests.analysis.programs import mixed, one, residual, simulated


def by_name(report):
    return {row.name: row for row in report.rows}


@pytest.mark.parametrize("bits", range(1, 8))
@pytest.mark.parametrize("signed", [False, True])
def test_bits_of_a_range_are_those_of_the_smallest_word_that_holds_it(bits, signed):
    word = Format(bits, signed)
    for lo in range(word.lo, word.hi + 1):
        for hi in range(lo, word.hi + 1):
            needed = bits_of(lo, hi, signed)
            assert Format(needed, signed).holds(lo, hi)
            assert needed == 1 or not Format(needed - 1, signed).holds(lo, hi)


def test_unsigned_word_holds_no_negative_range():
    with pytest.raises(RangeError, match=r"^an unsigned word cannot hold -1\.\.3$"):
        bits_of(-1, 3, False)


def test_every_value_of_the_program_is_there_in_order():
    report = widths(residual())
    kinds = [(row.name, row.kind) for row in report.rows]
    assert kinds == [
        ("x", "input"),
        ("quantizer.rounded", "inner"),
        ("quantizer", "edge"),
        ("transform.butterfly", "inner"),
        ("transform", "edge"),
        *[(row.name, row.kind) for row in report.rows if row.node in ("sum", "positive")],
    ]
    assert {row.kind for row in widths(mixed()).rows} == {"input", "constant", "edge", "inner"}


def test_proved_range_and_slack_of_a_word_that_is_wider_than_its_range():
    program = one("requantize", (3,), {"shift": (4,), "bits": 8, "signed": 1})
    row = by_name(widths(program))["node"]
    assert (row.word, row.proved_lo, row.proved_hi, row.proved_bits, row.slack) == ("s8", -8, 8, 5, 3)
    assert (row.observed_lo, row.observed_bits, row.observed_slack, row.overflows) == (None, None, None, None)


def test_observed_range_is_measured_in_the_signedness_of_its_word():
    program = one("requantize", (3,), {"shift": (0,), "bits": 6, "signed": 1})
    report = widths(program, simulated({"x": (-100, 99), "node": (0, 5)}, {"node": 7}))
    row = by_name(report)["node"]
    assert (row.observed_lo, row.observed_hi, row.observed_bits, row.observed_slack) == (0, 5, 4, 2)
    assert (row.overflows, report.overflows) == (7, 7)
    assert by_name(report)["x"].observed_bits == 8
    assert widths(program).overflows is None


def test_code_outside_its_proved_range_is_an_error():
    program = one("relu", (3,))
    with pytest.raises(RangeError, match=r"^`node` was observed in -1\.\.5, outside its proved range 0\.\.127$"):
        widths(program, simulated({"node": (-1, 5)}))


def test_inner_word_that_was_observed_shows_its_bits():
    row = by_name(widths(residual(), simulated({"transform.butterfly": (-9, 9)})))["transform.butterfly"]
    assert (row.observed_bits, row.observed_slack) == (5, row.bits - 5)


def test_json_has_a_row_for_each_value(tmp_path):
    report = widths(mixed())
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert len(content["widths"]) == len(report.rows)
    assert [path.name for path in report.write_csv(tmp_path)] == ["widths.csv"]
