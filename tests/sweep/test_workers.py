"""Worker processes: they die and the sweep goes on; they end when no one listens."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import SweepError
from mfsim.export.edit import open_model
from mfsim.quant.recipe import Recipe
from mfsim.sweep.measure import Samples
from mfsim.sweep.store import SweepFolder
from mfsim.sweep.workers import Setup, Task, spread
from tests.sweep.mines import Mine


@pytest.fixture
def setup(run, images, tmp_path):
    SweepFolder.open(tmp_path / "out", {}, {})
    samples = Samples(images.images, images.labels, np.zeros((len(images), 10)))
    model = run.file("model.onnx")
    return Setup(model, open_model(model).digest, tmp_path / "out", samples)


def own(setup: Setup) -> Recipe:
    return open_model(setup.model).recipe


def test_each_task_is_done_once_by_any_number_of_workers(setup):
    tasks = [Task(str(k), own(setup)) for k in range(5)]
    assert sorted(task.key for task in spread(setup, tasks, 2)) == list("01234")
    folder = SweepFolder(setup.folder)
    contents = [folder.read(task.key) for task in tasks]
    assert all(content["figures"] == contents[0]["figures"] for content in contents)
    assert contents[0]["figures"]["samples"] == 60
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_twice_fails_its_point_and_no_other(setup):
    tasks = [Task("dead", Mine()), Task("a", own(setup)), Task("b", own(setup))]
    assert sorted(task.key for task in spread(setup, tasks, 1)) == ["a", "b", "dead"]
    folder = SweepFolder(setup.folder)
    assert folder.read("dead")["error"] == (
        "the worker process died of signal 9, 2 times; it may have run out of memory"
    )
    assert folder.read("a")["error"] == folder.read("b")["error"] == ""


def test_a_worker_that_dies_once_costs_nothing(setup, tmp_path):
    (tmp_path / "mine").touch()
    (done,) = spread(setup, [Task("a", Mine(tmp_path / "mine"))], 1)
    assert SweepFolder(setup.folder).read(done.key)["figures"]["samples"] == 60


def test_a_model_that_is_gone_is_one_sentence(setup):
    setup.model.unlink()
    with pytest.raises(SweepError, match=r"model\.onnx"):
        list(spread(setup, [Task("a", Recipe())], 1))
    assert not multiprocessing.active_children()


def test_a_model_that_is_exported_again_meanwhile_is_refused(setup):
    with pytest.raises(
        SweepError, match=r"model\.onnx` was exported again while its sweep ran; start the sweep again$"
    ):
        list(spread(replace(setup, digest="0" * 64), [Task("a", Recipe())], 1))
    assert SweepFolder(setup.folder).read("a") is None


def test_what_is_left_of_a_sweep_ends_no_one_waits(setup):
    tasks = [Task(str(k), own(setup)) for k in range(50)]
    found = spread(setup, tasks, 2)
    next(found)
    found.close()
    assert not multiprocessing.active_children()


SCRIPT = """
import pathlib, sys
import numpy as np
from mfsim.export import open_model
from mfsim.sweep.measure import Samples
from mfsim.sweep.workers import Setup, Task, spread

def main():
    model, out = map(pathlib.Path, sys.argv[1:])
    samples = Samples(np.zeros((2000, 1, 8, 8), np.float32), np.zeros(2000, np.int64), np.zeros((2000, 10)))
    opened = open_model(model)
    setup = Setup(model, opened.digest, out, samples)
    for task in spread(setup, [Task(str(k), opened.recipe) for k in range(1000)], 2):
        print(task.key, flush=True)

{call}
"""


def started(setup, tmp_path, call: str) -> subprocess.Popen:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(call=call))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, script, setup.model, setup.folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def children(process: int) -> list[int]:
    return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.skipif(not pathlib.Path("/proc/self/task").is_dir(), reason="needs /proc to see processes")
def test_workers_end_with_the_process_that_started_them_even_if_it_is_killed(setup, tmp_path):
    process = started(setup, tmp_path, "if __name__ == '__main__':\n    main()")
    process.stdout.readline()
    workers = children(process.pid)
    assert len(workers) >= 2
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 30
    while any(pathlib.Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker outlives the process that started it"
        time.sleep(0.1)


def test_a_script_that_forgets_that_workers_import_it_is_told_so(setup, tmp_path):
    process = started(setup, tmp_path, "main()")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == (
        "mfsim.errors.SweepError: a worker process ended before it could start, with exit status 1; a script that sweeps "
        'must do so under `if __name__ == "__main__":`'
    )
