"""Golden vectors: what is written is what the simulator computed, in the form that a bench reads."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mfsim.errors import DataError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.rtl_models.vectors import VectorWriter, file_names, from_hex, read_vectors, to_hex
from mfsim.simulate import simulate
from tests.bits import assert_bit_equal
from tests.programs import random_codes, random_program, with_all_outputs


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 60, 61, 63])
@pytest.mark.parametrize("signed", [False, True])
def test_hex_round_trip(bits, signed):
    word = Format(bits, signed)
    rng = np.random.default_rng(bits)
    codes = np.concatenate([[word.lo, word.hi, 0], rng.integers(word.lo, word.hi, 40, endpoint=True)])
    text = to_hex(codes, word)
    lines = text.decode().splitlines()
    assert [int(line, 16) for line in lines] == [int(code) % 2**bits for code in codes]
    assert {len(line) for line in lines} == {-(-bits // 4)}
    assert_bit_equal(from_hex(text, word), codes)


def test_hex_of_negative_codes():
    """-1 in 6 bits is 111111, with zeros above up to the whole digit."""
    assert to_hex(np.array([-1, -32, 31, 0]), Format(6)) == b"3f\n20\n1f\n00\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"3f\n0", "every line must have 2 hexadecimal digits"),
        (b"3f0\n00", "every line must have 2 hexadecimal digits"),
        (b"3g\n", "every line must be a code of 6 bits"),
        (b"3F\n", "every line must be a code of 6 bits"),
        (b"40\n", "every line must be a code of 6 bits"),
    ],
)
def test_damaged_hex(text, message):
    with pytest.raises(DataError) as caught:
        from_hex(text, Format(6))
    assert str(caught.value) == message


def test_file_names_are_safe_and_distinct():
    names = [
        "fc1/x",
        "fc1:x",
        "FC1_X",
        "../../etc/passwd",
        "index",
        "",
        ".hidden",
        "a" * 300,
        "a" * 300 + "b",
        "é",
        "fc.weight",
    ]
    made = file_names(names)
    assert made["../../etc/passwd"] == "_.._etc_passwd"
    assert made["fc.weight"] == "fc.weight"
    lowered = [name.lower() for name in made.values()]
    assert len(set(lowered)) == len(names)
    assert "index" not in lowered
    assert all(len(name) <= 110 and not name.startswith(".") and "/" not in name for name in made.values())


@pytest.mark.parametrize("seed", range(0, 60, 12))
@pytest.mark.parametrize("threads", [1, 3])
def test_trace_round_trip(tmp_path, seed, threads):
    program = with_all_outputs(random_program(seed))
    codes = random_codes(program, 9, seed)
    result = simulate(program, codes, batch_size=2, threads=threads, trace=tmp_path / "trace")
    expected = result.outputs | {name: np.array(t.codes) for name, t in program.tensors.items() if t.is_constant}
    read = read_vectors(tmp_path / "trace")
    assert read.keys() == expected.keys() == program.tensors.keys()
    index = json.loads((tmp_path / "trace" / "index.json").read_text())
    files = {entry["name"]: entry["file"] for entry in index["tensors"]}
    for name, values in expected.items():
        assert_bit_equal(read[name], values, name)
        assert_bit_equal(np.load(tmp_path / "trace" / f"{files[name]}.npy"), values, name)
    assert len(list((tmp_path / "trace").iterdir())) == 2 * len(files) + 1
    assert list(tmp_path.iterdir()) == [tmp_path / "trace"]


def program():
    builder = ProgramBuilder()
    builder.input("x", (2,), Format(5), Scale.of(-3))
    w = builder.constant("w", np.array([[1, -2, 3], [0, 1, 1]]), Format(3), Scale((-1, -2, -3), 1))
    return builder.finish([builder.node("matmul", ["x", w], name="fc", layer="net.fc", outputs=["y"])])


def test_index(tmp_path):
    made = program()
    simulate(made, np.array([[1, 2], [-3, 4]]), trace=tmp_path / "t")
    index = json.loads((tmp_path / "t" / "index.json").read_text())
    assert (index["layout"], index["program"], index["samples"]) == ("mfsim vectors 1", made.digest(), 2)
    entries = {entry.pop("name"): entry for entry in index["tensors"]}
    assert entries["w"] == {
        "file": "w", "role": "constant", "bits": 3, "signed": True, "exponents": [-1, -2, -3], "axis": 1,
        "shape": [2, 3], "node": "", "op": "", "layer": "",
    }  # fmt: skip
    assert entries["x"]["role"] == "input"
    assert entries["y"] == {
        "file": "y", "role": "output", "bits": made.tensors["y"].format.bits, "signed": True, "exponents": [-4, -5, -6],
        "axis": 1, "shape": [2, 3], "node": "fc", "op": "matmul", "layer": "net.fc",
    }  # fmt: skip
    assert (tmp_path / "t" / "x.hex").read_bytes() == b"01\n02\n1d\n04\n"


def test_empty_trace(tmp_path):
    simulate(program(), np.empty((0, 2), np.int64), trace=tmp_path / "t")
    assert read_vectors(tmp_path / "t")["y"].shape == (0, 3)
    assert np.load(tmp_path / "t" / "y.npy").shape == (0, 3)


def test_trace_replaces_an_earlier_one(tmp_path):
    simulate(random_program(1), random_codes(random_program(1), 2), trace=tmp_path / "t")
    (tmp_path / "t" / "notes.txt").write_text("mine")
    simulate(program(), np.array([[1, 2]]), trace=tmp_path / "t")
    assert set(read_vectors(tmp_path / "t")) == {"x", "w", "y"}
    assert (tmp_path / "t" / "notes.txt").read_text() == "mine"
    assert len(list((tmp_path / "t").iterdir())) == 8
    assert list(tmp_path.iterdir()) == [tmp_path / "t"]


def test_trace_into_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulate(program(), np.array([[1, 2]]), trace=".")
    assert set(read_vectors(tmp_path)) == {"x", "w", "y"}


@pytest.mark.parametrize("make", [lambda p: p.write_text("mine"), lambda p: (p.mkdir(), (p / "mine").touch())])
def test_trace_never_replaces_what_is_not_a_trace(tmp_path, make):
    make(tmp_path / "t")
    with pytest.raises(DataError) as caught:
        simulate(program(), np.array([[1, 2]]), trace=tmp_path / "t")
    assert str(caught.value) == f"`{tmp_path}/t` must be a new or empty folder, or hold vectors already"
    assert list(tmp_path.iterdir()) == [tmp_path / "t"]


def test_failed_trace_leaves_nothing(tmp_path):
    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(program(), np.array([[1, 2]]), trace=tmp_path / "deep" / "t", progress=progress)
    assert list((tmp_path / "deep").iterdir()) == []


def test_trace_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError) as caught:
        VectorWriter(tmp_path / "file" / "t", program(), 1).__enter__()
    assert str(caught.value).startswith(f"vectors cannot be written to `{tmp_path}/file/t`: ")


def test_folder_without_vectors(tmp_path):
    with pytest.raises(DataError) as caught:
        read_vectors(tmp_path)
    assert str(caught.value) == f"`{tmp_path}` holds no vectors of mfsim"


@pytest.mark.parametrize(
    "damage", [lambda p: p.unlink(), lambda p: p.write_bytes(b"01\n"), lambda p: p.write_bytes(b"zz\n" * 4)]
)
def test_damaged_vectors(tmp_path, damage):
    simulate(program(), np.array([[1, 2], [3, 4]]), trace=tmp_path)
    damage(tmp_path / "x.hex")
    with pytest.raises(DataError, match=r"x\.hex` (is damaged|cannot be read): "):
        read_vectors(tmp_path)
