"""A worker: imports what is heavy once, then forks a child for each mutant; jobs and results are lines of JSON.

It runs in a copy of the checkout. The child imports mfsim, mutated, from that copy and runs pytest in-process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pathlib
import pkgutil
import re
import resource
import signal
import sys
import time
import traceback

HEAVY = ("pytest", "numpy", "numba", "llvmlite.binding", "torch", "onnx", "onnxscript", "brevitas.nn", "hypothesis")
MEMORY = 24 << 30
LATE = "the time was over"


class Watch:
    """Pytest plugin: keeps the tests asked for, notes the first failure, stops when the time is over."""

    def __init__(self, wanted, deadline):
        self.wanted, self.deadline = wanted, deadline
        self.failed, self.ran, self.late = "", 0, False

    def pytest_collection_modifyitems(self, config, items):
        kept = [item for item in items if self._keeps(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def _keeps(self, item):
        rules = [
            p for place, p in self.wanted if item.nodeid == place or item.nodeid.startswith((place + "::", place + "/"))
        ]
        return any(not rule or re.search(rule, item.nodeid) for rule in rules)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_runtest_logreport(self, report):
        self.ran += report.when == "call"
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_runtest_setup(self, item):
        if time.monotonic() > self.deadline:
            self.late = True
            item.session.shouldstop = "the time of this mutant is over"


def run_tests(stages, seconds):
    """Run the stages in this process up to the first failure."""
    import pytest

    deadline = time.monotonic() + seconds
    ran = 0
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # a second run finds plugins imported
    for stage in stages:
        watch = Watch([tuple(target) for target in stage], deadline)
        paths = list(dict.fromkeys(place for place, _ in stage))
        status = pytest.main([*options, *paths], plugins=[watch])
        ran += watch.ran
        if watch.failed or status not in (0, 2, 5):
            return {"outcome": "killed", "by": watch.failed or f"exit status {status} of pytest", "tests": ran}
        if watch.late:
            return {"outcome": "survived", "by": LATE, "tests": ran}
        if status == 2:
            return {"outcome": "killed", "by": paths[0], "tests": ran}
    return {"outcome": "survived", "by": "", "tests": ran}


def check_imported(copy):
    """Every module of mfsim must come from the copy, wherever `pip install --editable` points to."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.split(".")[0] == "mfsim" and not pathlib.Path(file).resolve().is_relative_to(copy):
            raise RuntimeError(f"`{name}` was imported from {file}, not from {copy}")


def child(job, report):
    """Run one job; never returns."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.dont_write_bytecode = True
    log = os.open(os.devnull if not job.get("log") else job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    report = report.resolve()
    try:
        result = run_tests(job["stages"], job["seconds"])
        check_imported(pathlib.Path(__file__).resolve().parents[2])
    except BaseException:
        result = {"outcome": "error", "by": traceback.format_exc(), "tests": 0}
    report.write_text(json.dumps(result))
    os._exit(0)


def supervise(job):
    """Fork a child for a job and wait for it; one that hangs is ended with what it started."""
    report = pathlib.Path(".mutant-result.json")
    report.unlink(missing_ok=True)
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        child(job, report)
    limit = begin + job["seconds"] + job["grace"]
    status = 0
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > limit:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return {"outcome": "killed", "by": "a test that does not end", "tests": 0}
        time.sleep(0.02)
    if not report.exists():
        if not os.WIFSIGNALED(status):  # a test that calls `os._exit`
            return {"outcome": "error", "by": f"the child ended early with status {status}", "tests": 0}
        return {"outcome": "killed", "by": f"signal {os.WTERMSIG(status)}", "tests": 0}
    return json.loads(report.read_text())


def mutated(job):
    """Write the mutant, run the tests, restore the file."""
    if not job["path"]:
        return supervise(job)
    path = pathlib.Path(job["path"])
    original, stat = path.read_bytes(), path.stat()
    try:
        path.write_text(job["text"])
        os.utime(path, (stat.st_atime, stat.st_mtime + 10))  # the compiled original must not be taken for it
        return supervise(job)
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def main():
    """Preload, then answer jobs until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for name in HEAVY:
        importlib.import_module(name)
    for name in sys.argv[1:]:
        package = importlib.import_module(name)
        for info in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(info.name)
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for line in sys.stdin:
        job = json.loads(line)
        assert not job["path"] or os.path.abspath(job["path"]) not in files, f"{job['path']} is preloaded"
        begin = time.monotonic()
        result = mutated(job)
        answers.write(json.dumps({**result, "seconds": round(time.monotonic() - begin, 1)}) + "\n")


if __name__ == "__main__":
    main()
