"""Descriptions of arrays: what they mean, what is wrong with them, and the ones that are shipped."""

from __future__ import annotations

import re

import pytest

from mfsim.cim import ARRAYS, CimArray, load_array
from mfsim.errors import ArrayError


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rows": 0}, "`rows` of an array must be in 1..65536, not 0"),
        ({"columns": -3}, "`columns` of an array must be in 1..65536, not -3"),
        ({"columns": 2.5}, "`columns` of an array must be in 1..65536, not 2.5"),
        ({"cell_bits": 9}, "`cell_bits` of an array must be in 1..8, not 9"),
        ({"input_bits": True}, "`input_bits` of an array must be in 1..8, not True"),
        (
            {"converter_bits": 0},
            '`converter_bits` of an array must be in 1..16 or "ideal", not 0; an ideal converter is "ideal"',
        ),
        ({"converter_bits": "idael"}, "`converter_bits` of an array must be in 1..16 or \"ideal\", not 'idael'"),
        ({"shared_by": 9}, "`shared_by` of an array must be in 1..8, not 9"),
        ({"sum_along": "row"}, "`sum_along` of an array must be one of rows, columns, not 'row'; did you mean `rows`?"),
        ({"halves": 3}, "`halves` of an array must be one of 1, 2, not 3"),
        ({"halves": 2, "rows": 1}, "`rows` of an array with 2 halves must be at least 2, not 1"),
        ({"stores": "wth"}, "`stores` of an array must be one of weights, wht, not 'wth'; did you mean `wht`?"),
        ({"stores": "wht", "cell_bits": 2}, "`cell_bits` of an array that stores wht must be 1, not 2"),
        ({"vdd": 0}, "`vdd` of an array must be a number above 0, not 0"),
        ({"vdd": float("nan")}, "`vdd` of an array must be a number above 0, not nan"),
        ({"cycle_ns": "fast"}, "`cycle_ns` of an array must be a number above 0, not 'fast'"),
        ({"source": 3}, "`source` of an array must be a text, not 3"),
        ({"colums": 8}, "`colums` is no key of an array; did you mean `columns`?"),
    ],
)
def test_wrong_values_are_one_sentence(changes, sentence):
    with pytest.raises(ArrayError, match=f"^{re.escape(sentence)}$"):
        CimArray.from_dict({"rows": 8, "columns": 8} | changes)


def test_unlike_any_key():
    with pytest.raises(ArrayError, match=r"^`zzz` is no key of an array; the keys are rows, columns, cell_bits, "):
        CimArray.from_dict({"rows": 8, "columns": 8, "zzz": 1})


def test_what_is_needed():
    with pytest.raises(ArrayError, match=r"^an array needs `columns`$"):
        CimArray.from_dict({"rows": 8})


def test_toml_file(tmp_path):
    (tmp_path / "mine.toml").write_text('rows = 64\ncolumns = 32\nconverter_bits = "ideal"\ncycle_ns = 5\n')
    array = load_array(str(tmp_path / "mine.toml"))
    assert (array.name, array.rows, array.columns, array.converter_bits, array.cycle_ns) == ("mine", 64, 32, None, 5)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.toml", None, "the array `{}` cannot be read: No such file or directory"),
        ("odd.toml", b"rows = \n", "the array `{}` is no TOML: "),
        ("bytes.toml", b"\xff\xfe", "the array `{}` cannot be read: 'utf-8' codec"),
    ],
)
def test_files_that_are_none(tmp_path, name, content, sentence):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ArrayError, match=f"^{re.escape(sentence.format(path))}"):
        load_array(str(path))


def test_unknown_array():
    sentence = (
        "`array` must be one of mf-net-8x62, mf-net-8x30, wht-16x16, or a TOML file, not 'mf-net-8x26'; "
        "did you mean `mf-net-8x62`?"
    )
    with pytest.raises(ArrayError, match=f"^{re.escape(sentence)}$"):
        load_array("mf-net-8x26")


def test_shipped_arrays_have_a_source_and_the_figures_of_their_papers():
    assert all(array.source and name == array.name for name, array in ARRAYS.items())
    figures = {name: (a.rows, a.columns, a.converter_bits, a.input_bits) for name, a in ARRAYS.items()}
    assert figures == {"mf-net-8x62": (8, 62, 5, 1), "mf-net-8x30": (8, 30, 4, 1), "wht-16x16": (16, 16, 1, 1)}


def test_converters_of_the_mf_net_macros_are_just_loss_free():
    """31 cells of a half make 32 sums, 5 bits; 15 make 16, 4 bits."""
    assert [(ARRAYS[name].terms + 1, 2 ** ARRAYS[name].converter_bits) for name in ("mf-net-8x62", "mf-net-8x30")] == [
        (32, 32),
        (16, 16),
    ]


def test_changed_array_says_so_and_is_checked():
    array = ARRAYS["mf-net-8x62"].changed(converter_bits="ideal", columns=64)
    assert (array.converter_bits, array.terms) == (None, 32)
    assert array.name == "mf-net-8x62 with converter_bits ideal, columns 64"
    with pytest.raises(ArrayError, match=r"^`shared_by` of an array must be in 1\.\.4, not 8$"):
        ARRAYS["mf-net-8x62"].changed(rows=4)


def test_json_names_an_ideal_converter():
    assert CimArray(rows=2, columns=2).to_json()["converter_bits"] == "ideal"
    assert CimArray.from_dict(CimArray(rows=2, columns=2).to_json()) == CimArray(rows=2, columns=2)
