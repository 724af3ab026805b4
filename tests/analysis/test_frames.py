"""Listings as DataFrames, by the libraries' own doors and by ours; what is said where a library is missing."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pandas
import polars
import pyarrow
import pytest

from mfsim.analysis import count, memory
from mfsim.analysis.listing import Listing
from mfsim.errors import MfsimError, MissingLibraryError
from tests.analysis.listings import LISTING
from tests.analysis.programs import mixed

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = {"word": ["s8", 'ü,"\n'], "widths": ["8 17", ""], "both": ["x", "3"], "large": [str(2**63), "-1"]}
EXPECTED = {
    "word": TEXTS["word"],
    "n": [1, -(2**63)],
    "maybe": [None, 2**63 - 1],
    "share": [1.0, 0.5],
    "some": [None, 1.25],
    "exact": [True, False],
    "known": [None, True],
    "widths": TEXTS["widths"],
    "both": TEXTS["both"],
    "large": TEXTS["large"],
    "nothing": [None, None],
}
POLARS = [
    polars.String,
    *(polars.Int64, polars.Int64, polars.Float64, polars.Float64, polars.Boolean, polars.Boolean),
    *(polars.String, polars.String, polars.String, polars.Null),
]
PANDAS = ["str", "int64", "Int64", "float64", "Float64", "bool", "boolean", "str", "str", "str", "object"]


def message_of(error, call) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("make", [polars.DataFrame, polars.from_dataframe, lambda listing: listing.to_polars()])
@pytest.mark.parametrize("with_pyarrow", [True, False])
def test_polars(make, with_pyarrow, monkeypatch):
    if not with_pyarrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = make(LISTING)
    assert frame.schema == dict(zip(LISTING.columns, POLARS, strict=True))
    assert frame.to_dict(as_series=False) == EXPECTED


def test_pandas():
    frame = LISTING.to_pandas()
    assert list(map(str, frame.dtypes)) == PANDAS
    assert {name: [None if pandas.isna(v) else v for v in frame[name]] for name in frame} == EXPECTED


def test_pandas_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert LISTING.to_pandas()["maybe"].tolist() == [pandas.NA, 2**63 - 1]


@pytest.mark.parametrize("make", [pandas.api.interchange.from_dataframe, pandas.DataFrame.from_arrow])
def test_pandas_takes_a_listing_as_it_is(make):
    frame = make(LISTING)
    assert list(frame.columns) == list(LISTING.columns)
    for name in ("word", "n", "share", "exact", "widths", "both", "large"):
        assert frame[name].tolist() == EXPECTED[name], name
    assert frame["n"].dtype == "int64"
    assert frame["some"].isna().tolist() == [True, False]


ALONE = """
import sys
sys.modules["pyarrow"] = None
import json, pandas
from mfsim.analysis.listing import Listing
from tests.analysis.listings import LISTING
for name in ("maybe", "known"):
    k = LISTING.columns.index(name)
    try:
        pandas.api.interchange.from_dataframe(Listing("one", (name,), tuple((row[k],) for row in LISTING.rows)))
    except ImportError as error:
        print(error)
kept = [k for k, name in enumerate(LISTING.columns) if name not in ("maybe", "known")]
cells = tuple(tuple(row[k] for k in kept) for row in LISTING.rows)
frame = pandas.api.interchange.from_dataframe(Listing("some", tuple(LISTING.columns[k] for k in kept), cells))
print(json.dumps([[None if pandas.isna(v) else v for v in row] for row in frame.astype(object).values.tolist()]))
"""


def test_pandas_takes_a_listing_without_pyarrow_by_its_old_protocol():
    """Pandas asks for pyarrow first, and warns; so it is another process in which there is none."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALONE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *errors, rows = run.stdout.splitlines()
    text = "pandas reads the column `{}` of `one` only with pyarrow; run `pip install pyarrow`, or call `to_pandas()`"
    assert errors == [text.format("maybe"), text.format("known")]
    kept = [cells for name, cells in EXPECTED.items() if name not in ("maybe", "known")]
    assert json.loads(rows) == [list(row) for row in zip(*kept, strict=True)]


def test_pyarrow():
    assert pyarrow.table(LISTING).to_pydict() == EXPECTED


def test_without_rows_the_columns_are_there():
    empty = Listing("empty", ("a", "b"), ())
    assert empty.to_polars().columns == ["a", "b"]
    assert polars.DataFrame(empty).shape == (0, 2)
    assert list(empty.to_pandas().columns) == ["a", "b"]
    assert pandas.api.interchange.from_dataframe(empty).shape == (0, 2)


def test_a_result_gives_its_main_table_or_the_one_that_is_named():
    counts, needed = count(mixed()), memory(mixed())
    rows = counts.listings()[0].rows
    assert polars.DataFrame(counts).rows() == counts.to_polars("operations").rows()
    assert counts.to_pandas().shape == (len(rows), 8)
    assert counts.to_polars()["count"].to_list() == [row[5] for row in rows]
    by_layer = counts.to_pandas("operations_by_layer").set_index("layer")["total"]
    assert by_layer.to_dict() == {layer: sum(sums.values()) for layer, sums in counts.by_layer().items()}
    assert pandas.api.interchange.from_dataframe(needed)["bits"].sum() == sum(t.bits for t in needed.tensors)


def test_a_table_that_is_not_there():
    counts = count(mixed())
    assert message_of(MfsimError, lambda: counts.to_pandas("operation_by_layer")) == (
        "`table` must be one of operations, operations_by_layer, operations_by_op, operations_by_primitive, "
        "operations_by_width, operations_offline, multiplications, multiplications_by_class, tables, uncounted, "
        "not 'operation_by_layer'; did you mean `operations_by_layer`?"
    )


def test_libraries_that_are_missing(monkeypatch):
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    assert issubclass(MissingLibraryError, MfsimError)
    assert issubclass(MissingLibraryError, ImportError)
    pandas_needed = "a pandas DataFrame needs pandas, which is not installed; run `pip install pandas`"
    assert message_of(MissingLibraryError, LISTING.to_pandas) == pandas_needed
    assert message_of(MissingLibraryError, Listing("x", ("a",), ((1,),)).__dataframe__) == pandas_needed
    assert message_of(MissingLibraryError, LISTING.to_polars) == (
        "a Polars DataFrame needs polars, which is not installed; run `pip install polars`"
    )
    assert message_of(MissingLibraryError, LISTING.__arrow_c_stream__) == (
        "an Arrow stream needs pyarrow or polars, and neither is installed; run `pip install pyarrow`"
    )
