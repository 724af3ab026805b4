"""Listings: CSV, JSON and files that are whole or not there."""

from __future__ import annotations

import csv
import io
import os

import pytest

from mfsim.analysis.listing import Listing, write_listings, write_text
from mfsim.errors import MfsimError

LISTING = Listing(
    "odd", ("name", "widths", "known", "value"), (('a,"b"\n', (8, 1), True, None), ("=c", (), False, 2**62))
)


def test_csv_survives_commas_quotes_and_line_feeds():
    rows = list(csv.reader(io.StringIO(LISTING.csv())))
    assert rows == [
        ["name", "widths", "known", "value"],
        ['a,"b"\n', "8 1", "true", ""],
        ["=c", "", "false", str(2**62)],
    ]


def test_records_have_lists_for_tuples_and_come_back():
    records = LISTING.records()
    assert records[0] == {"name": 'a,"b"\n', "widths": [8, 1], "known": True, "value": None}
    assert Listing.of_records("odd", LISTING.columns, records) == LISTING


def test_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"^a row of listing `x` must have 2 cells, not 1$"):
        Listing("x", ("a", "b"), ((1,),))


def test_files_are_made_with_their_folder_and_replaced(tmp_path):
    (path,) = write_listings([LISTING], tmp_path / "new" / "folder")
    assert path.read_text() == LISTING.csv()
    write_text(path, "other")
    assert path.read_text() == "other"
    assert os.listdir(path.parent) == ["odd.csv"], "nothing is left beside the file"


def test_folder_that_is_a_file_is_one_clear_sentence_and_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(MfsimError, match=r"^`.*file/a.csv` cannot be written: (Not a directory|File exists)$"):
        write_text(tmp_path / "file" / "a.csv", "text")
    assert os.listdir(tmp_path) == ["file"]


def test_target_that_cannot_be_replaced_leaves_no_half_written_file(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(MfsimError, match=r"^`.*a.csv` cannot be written: Is a directory$"):
        write_text(tmp_path / "a.csv", "text")
    assert os.listdir(tmp_path) == ["a.csv"]
