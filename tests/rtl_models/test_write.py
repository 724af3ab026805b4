"""Blocks as folders: what is written is read back; nothing half-written."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mfsim.errors import DataError, RangeError, ShapeError
from mfsim.ir.formats import Format
from mfsim.rtl_models import BLOCKS, Port, WhtParameters, read, write
from mfsim.rtl_models.hexfile import port_codes, port_lines
from tests.bits import assert_bit_equal


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_read_back(block, tmp_path):
    described = write(block, {}, tmp_path / "made", vectors=20)
    made, codes = read(tmp_path / "made")
    assert made == BLOCKS[block]()
    assert_bit_equal(codes["y"], made.expected(codes, "reference")["y"])
    assert json.loads((tmp_path / "made" / "parameters.json").read_text()) == described
    names = {*described["sources"], described["bench"], "parameters.json", "README.md", "y_o.hex"}
    names |= {f"{port.name}_i.hex" for port in made.inputs}
    assert {path.name for path in (tmp_path / "made").iterdir()} == names
    assert len((tmp_path / "made" / "y_o.hex").read_text().splitlines()) == 20
    for port in made.inputs:
        assert (codes[port.name][0] == port.word.lo).all()
        assert (codes[port.name][1] == port.word.hi).all()


def test_own_vectors(tmp_path):
    x = np.arange(-12, 12).reshape(3, 8)
    write("wht", {"x_bits": 5}, tmp_path, vectors={"x": x})
    _, codes = read(tmp_path)
    assert_bit_equal(codes["x"], x)
    assert codes["y"][:, 0].tolist() == x.sum(axis=1).tolist()


def test_a_line_is_the_whole_port_with_word_0_lowest():
    assert port_lines(np.array([[1, -1, 0]]), Port("x", 3, Format(5))) == b"03e1\n"


@pytest.mark.parametrize(
    ("length", "word"), [(1, Format(1)), (3, Format(7)), (64, Format(22)), (5, Format(9, False)), (2, Format(63))]
)
def test_lines_are_read_back(length, word):
    rng = np.random.default_rng(length)
    codes = rng.integers(word.lo, word.hi, (5000, length), endpoint=True)
    port = Port("x", length, word)
    assert_bit_equal(port_codes(port_lines(codes, port), port), codes)


def test_a_block_is_replaced_and_other_files_stay(tmp_path):
    write("mf_dot", {}, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    write("wht", {"n": 4}, tmp_path)
    made, _ = read(tmp_path)
    assert made == WhtParameters(4)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not list(tmp_path.glob("mf_*"))
    assert not (tmp_path / "w_i.hex").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError) as caught:
        write("wht", {}, tmp_path)
    assert str(caught.value) == f"`{tmp_path}` must be a new or empty folder, or hold a block already"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(DataError, match="holds no block of mfsim"):
        read(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    write("wht", {}, tmp_path)
    (tmp_path / "x_i.hex").write_text("zz\n")
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert str(caught.value) == f"the block in `{tmp_path}` is damaged: every line must have 16 hexadecimal digits"


@pytest.mark.parametrize(
    ("vectors", "error", "sentence"),
    [
        (0, DataError, "`vectors` must be at least 1, not 0"),
        ({}, DataError, "`vectors` must hold x, not nothing"),
        (
            {"x": np.zeros((2, 7), dtype=int)},
            ShapeError,
            r"vectors of port x must be integers \[vectors, 8\], not int64 \(2, 7\)",
        ),
        ({"x": np.zeros((2, 8))}, ShapeError, "not float64"),
        ({"x": np.full((2, 8), 128)}, RangeError, "vectors of port x must be in -128..127"),
    ],
)
def test_wrong_vectors(vectors, error, sentence, tmp_path):
    with pytest.raises(error, match=sentence):
        write("wht", {}, tmp_path / "made", vectors=vectors)
    assert not (tmp_path / "made").exists()
