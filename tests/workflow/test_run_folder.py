"""Run folders: names, missing steps, writing whole or not at all."""

from __future__ import annotations

import json

import pytest

from mfsim.errors import MfsimError, ModelError
from mfsim.run_folder import STEPS, RunFolder, make_folder, read_json, write_json


@pytest.fixture
def run(tmp_path):
    made = RunFolder.create(tmp_path / "a" / "b")
    made.write("run.json", {"name": "b", "accuracy": {"float": 0.5}})
    return made


def test_every_file_has_the_command_that_writes_it(run):
    for name, step in STEPS.items():
        if name != "run.json":
            with pytest.raises(ModelError) as error:
                run.need(name)
            assert str(error.value) == f"`{run}` has no {name}; run `mfsim {step} {run}` first"
    with pytest.raises(KeyError):
        run.file("other.json")


def test_update_replaces_entries(run):
    assert run.update(accuracy={"integer": 0.25}) == {"name": "b", "accuracy": {"integer": 0.25}}
    assert run.read() == {"name": "b", "accuracy": {"integer": 0.25}}


@pytest.mark.parametrize(("step", "left"), [("train", 1), ("quantize", 2), ("export", 4), ("report", 10)])
def test_forget_from_removes_later_files_and_keeps_run_json(run, step, left):
    for name in STEPS:
        if name == "report":
            (run.file(name) / "csv").mkdir(parents=True)
        elif name != "run.json":
            run.file(name).write_text("x")
    run.forget_from(step)
    assert len(list(run.path.iterdir())) == left
    assert run.has("run.json")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(MfsimError) as error:
        RunFolder.create(tmp_path / "file")
    assert str(error.value) == f"`{tmp_path}/file` must be a folder, and it is a file"


def test_make_folder_leaves_nothing_in_it(tmp_path):
    assert not list(make_folder(tmp_path / "new").iterdir())


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = write_json(tmp_path / "x.json", {"a": [1, None]})
    assert read_json(path) == {"a": [1, None]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": [1, None]}
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "is no JSON file: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"\xff\xfe\x00", "is no JSON file: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"3", "must hold a JSON object, not a int"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_damaged_json(tmp_path, content, sentence):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError) as error:
        read_json(path)
    assert str(error.value) == f"`{path}` {sentence}"


def fails_in(path, written=()):
    """Make a run folder in which something fails, after the files `written`."""
    with RunFolder.new(path) as run:
        for name in written:
            run.write(name, {})
        raise ModelError("it cannot be made")


def test_a_new_folder_goes_again_if_nothing_comes_of_it(tmp_path):
    with pytest.raises(ModelError, match="it cannot be made"):
        fails_in(tmp_path / "runs" / "first")
    assert not any(tmp_path.iterdir())


def test_a_new_folder_with_files_stays_and_so_does_an_old_one(tmp_path):
    with pytest.raises(ModelError, match="it cannot be made"):
        fails_in(tmp_path / "first", ["run.json"])
    assert (tmp_path / "first" / "run.json").exists()
    (tmp_path / "old").mkdir()
    with pytest.raises(ModelError, match="it cannot be made"):
        fails_in(tmp_path / "old")
    assert (tmp_path / "old").is_dir()
