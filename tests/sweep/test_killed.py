"""A sweep that is killed again and again loses only what was in work."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.sweep.test_run import stamps

KILLS = 5


@pytest.fixture
def data(tmp_path):
    """Return a data set whose test images take a while."""
    random = np.random.RandomState(0)
    path = tmp_path / "images.npz"
    np.savez(
        path,
        x_train=random.randint(0, 256, (60, 8, 8)).astype(np.uint8),
        y_train=np.arange(60) % 10,
        x_test=random.randint(0, 256, (24000, 8, 8)).astype(np.uint8),
        y_test=np.arange(24000) % 10,
    )
    return path


def _listens_to_ctrl_c() -> None:
    """Undo what a shell does to jobs in the background: they ignore Ctrl-C, and so would the command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(run, data, out) -> subprocess.Popen:
    """Start the command in a process group of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    options = ["--axis", "weight=2:9", "--axis", "activation=2:9", "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "mfsim", "sweep", run.path, *options, "--data", data, "--out", out],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        preexec_fn=_listens_to_ctrl_c,
    )


def finished(process: subprocess.Popen) -> None:
    """Wait for the command to end well."""
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def test_five_kills_lose_only_what_is_in_work(exported, data, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    finished(started(exported, data, whole))
    choice, before = random.Random(1), {}
    for _ in range(KILLS):
        process = started(exported, data, killed)
        while not (killed / "points").is_dir() or len(stamps(killed)) < len(before) + 2:
            assert process.poll() is None, "the sweep ended before it could be killed"
            time.sleep(0.01)
        time.sleep(choice.uniform(0, 0.1))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        after = stamps(killed)
        assert before.items() <= after.items(), "a finished point is computed again"
        before = after
    finished(started(exported, data, killed))
    after = stamps(killed)
    assert before.items() <= after.items()
    assert after.keys() == stamps(whole).keys()
    assert len(after) == 64
    for name in after:
        assert (killed / "points" / name).read_bytes() == (whole / "points" / name).read_bytes()
    assert (killed / "sweep.csv").read_bytes() == (whole / "sweep.csv").read_bytes()


def test_ctrl_c_is_one_word_and_leaves_a_folder_to_go_on_with(exported, data, tmp_path):
    out = tmp_path / "out"
    process = started(exported, data, out)
    while not (out / "points").is_dir() or len(stamps(out)) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process of the group gets it
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "mfsim: interrupted\n")
    assert len((out / "sweep.csv").read_text().splitlines()) > 2
    before = stamps(out)
    finished(started(exported, data, out))
    assert before.items() <= stamps(out).items()
