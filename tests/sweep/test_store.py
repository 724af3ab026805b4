"""The folder of a sweep: whole points, whose it is, and what a killed process leaves."""

from __future__ import annotations

import os
import time

import pytest

from mfsim.errors import SweepError
from mfsim.sweep.store import LEFT_BEHIND, SweepFolder

PLAN = {"model": "1234567890abcdef", "data": "fedcba0987654321", "axes": ["weight=4"]}
IDENTITY = {"model": "the model", "data": "the images"}
KEY = "0" * 64
CONTENT = {"figures": {"correct": 3}, "error": ""}


@pytest.fixture
def folder(tmp_path):
    return SweepFolder.open(tmp_path / "a" / "sweep", PLAN, IDENTITY)


def test_a_point_comes_back(folder):
    assert folder.read(KEY) is None
    folder.write(KEY, CONTENT)
    assert folder.read(KEY) == {"key": KEY, **CONTENT}
    assert [path.name for path in folder.points.iterdir()] == [f"{KEY}.json"]


def test_a_point_is_synced_before_it_has_its_name(folder, monkeypatch):
    steps = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("sync"), sync(handle)))
    monkeypatch.setattr("pathlib.Path.replace", lambda self, target: (steps.append("rename"), replace(self, target)))
    folder.write(KEY, CONTENT)
    assert steps == ["sync", "rename", "sync"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "another", "figures": null, "error": ""}'])
def test_a_damaged_point_counts_as_missing(folder, text):
    (folder.points / f"{KEY}.json").write_text(text)
    assert folder.read(KEY) is None


def test_other_axes_may_use_the_same_folder(folder):
    folder.write(KEY, CONTENT)
    again = SweepFolder.open(folder.path, PLAN | {"axes": ["weight=4,5"]}, IDENTITY)
    assert again.read(KEY) is not None


@pytest.mark.parametrize(("name", "before"), [("model", "the model 1234567890ab"), ("data", "the images fedcba098765")])
def test_another_model_or_other_images_are_refused(folder, name, before):
    with pytest.raises(SweepError) as refused:
        SweepFolder.open(folder.path, PLAN | {name: "0123456789abcdef"}, IDENTITY)
    assert (
        str(refused.value)
        == f"`{folder.path}` is a sweep of {before}, and that is 0123456789ab now; choose another --out, or remove that folder"
    )


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SweepError) as refused:
        SweepFolder.open(tmp_path, PLAN, IDENTITY)
    assert (
        str(refused.value) == f"`{tmp_path}` must be a folder of `mfsim sweep`, or empty: it has files and no plan.json"
    )


def test_a_start_that_was_killed_before_its_plan_is_no_obstacle(tmp_path):
    (tmp_path / "points").mkdir()
    (tmp_path / ".plan.json.x").write_text("{")
    assert SweepFolder.open(tmp_path, PLAN, IDENTITY).points.is_dir()
    assert SweepFolder.open(tmp_path, PLAN, IDENTITY).read(KEY) is None
    (tmp_path / "plan.json").unlink()
    (tmp_path / "points" / "thesis.tex").touch()
    with pytest.raises(SweepError, match=r"it has files and no plan\.json$"):
        SweepFolder.open(tmp_path, PLAN, IDENTITY)


def test_the_plan_is_synced(tmp_path, monkeypatch):
    synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), sync(handle)))
    SweepFolder.open(tmp_path, PLAN, IDENTITY)
    assert len(synced) == 2  # the file and its folder


def test_a_half_written_file_that_another_process_finishes_is_no_error(folder, monkeypatch):
    (folder.points / ".half.json.x").write_text("{")
    stat = type(folder.path).stat

    def gone(self, **options):
        if self.name == ".half.json.x":
            self.unlink(missing_ok=True)
        return stat(self, **options)

    monkeypatch.setattr(type(folder.path), "stat", gone)
    SweepFolder.open(folder.path, PLAN, IDENTITY)
    assert not list(folder.points.iterdir())


def test_what_a_killed_process_left_half_written_goes_after_an_hour(folder):
    old, new = folder.points / ".old.json.x", folder.points / ".new.json.x"
    for path in (old, new):
        path.write_text("{")
    hour = time.time() - LEFT_BEHIND - 10
    os.utime(old, (hour, hour))
    SweepFolder.open(folder.path, PLAN, IDENTITY)
    assert [path.name for path in folder.points.iterdir()] == [new.name]
