"""`python -m tools.mutants --sample 300 --seed 1`: the mutation run. Exit status 1: a survivor has no explanation."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

from tools.mutants import selection, settings
from tools.mutants.places import Mutant, mutants_of
from tools.mutants.worker import LATE

IGNORED = shutil.ignore_patterns(".git", ".venv*", "runs", "build", "dist", "__pycache__", "*.egg-info", ".*_cache")


def sample(population: dict[str, list[Mutant]], lines: dict[str, int], size: int, seed: int) -> list[Mutant]:
    """Return `size` mutants, from each package by its number of lines, in an order that a seed decides."""
    total = sum(lines.values())
    shares = {package: size * count // total for package, count in lines.items()}
    rest = sorted(lines, key=lambda package: -(size * lines[package] % total))
    for package in rest[: size - sum(shares.values())]:
        shares[package] += 1
    chosen = []
    for package, mutants in population.items():
        chosen += random.Random(f"{seed} {package}").sample(mutants, min(shares[package], len(mutants)))
    random.Random(seed).shuffle(chosen)
    return chosen


def assemble(root: pathlib.Path, copy: pathlib.Path) -> None:
    """Copy the checkout; packages that lie outside of `mfsim` are linked in, so that the copy's files are imported."""
    shutil.copytree(root, copy, symlinks=True, ignore=IGNORED)
    folders = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"].get("package-dir", {})
    for package, folder in folders.items():
        link = copy / package.replace(".", "/")
        if not link.exists():
            link.symlink_to(os.path.relpath(copy / folder, link.parent))


class Worker:
    """A worker process in its copy of the checkout."""

    def __init__(self, copy: pathlib.Path, cache: pathlib.Path):
        environment = os.environ | {
            "PYTHONPATH": str(copy),
            "MFSIM_CACHE_DIR": str(cache),
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        command = [sys.executable, "-m", "tools.mutants.worker", *settings.PRELOADED]
        self.process = subprocess.Popen(
            command, cwd=copy, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, job: dict) -> dict:
        """Send a job and wait for its result."""
        print(json.dumps(job), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a worker has ended; its error is above")
        result = json.loads(line)
        if result["outcome"] == "error":
            raise RuntimeError(f"{job['path']}: {result['by']}")
        return result


def run_all(mutants: list[Mutant], workers: list[Worker], options: argparse.Namespace) -> list[tuple[Mutant, dict]]:
    """Run every mutant on the workers, side by side."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        waiting.put(mutant)
    done: list[tuple[Mutant, dict]] = []
    begin = time.monotonic()

    def serve(worker: Worker) -> None:
        while True:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            stages = selection.stages_of(mutant.package, mutant.path)
            job = {"path": mutant.path, "text": mutant.text, "stages": stages, "seconds": options.seconds, "grace": 60}
            result = worker.run(job | {"log": options.log})
            done.append((mutant, result))
            clock = time.monotonic() - begin
            print(
                f"{len(done)}/{len(mutants)} {clock:.0f} s  {result['outcome']} in {result['seconds']} s  "
                f"{mutant.path}:{mutant.line}  {mutant.old} -> {mutant.new}  {result['by']}",
                flush=True,
            )

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for future in [pool.submit(serve, worker) for worker in workers]:
            future.result()
    return done


def false_kills(done: list[tuple[Mutant, dict]], worker: Worker, log: str) -> str:
    """Return a test that killed a mutant and fails without one, or ''."""
    tests = {result["by"] for _, result in done if result["outcome"] == "killed" and ".py" in result["by"]}
    if not tests:
        return ""
    stage = [(test, "") for test in sorted(tests)]
    result = worker.run({"path": "", "stages": [stage], "seconds": 1800, "grace": 60, "log": log})
    return result["by"] if result["outcome"] == "killed" else ""


def write(done: list[tuple[Mutant, dict]], explained: dict[str, str], out: pathlib.Path) -> None:
    """Write `results.json` and `survivors.md`."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [{k: v for k, v in vars(m).items() if k != "text"} | r for m, r in sorted(done, key=lambda x: x[0].identity)]
    (out / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = ["| place | line | change | explanation |", "|---|---|---|---|"]
    for row in rows:
        if row["outcome"] == "survived":
            text = pathlib.Path(row["path"]).read_text().splitlines()[row["line"] - 1].strip()
            cells = (
                f"{row['path']}:{row['line']}",
                f"`{text}`",
                f"`{row['old']}` -> `{row['new']}`",
                explained.get(row["identity"], "**none**" + (f" ({row['by']})" if row["by"] else "")),
            )
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    (out / "survivors.md").write_text("\n".join(lines) + "\n")


def main() -> int:
    """Run the mutants and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--packages", default=",".join(settings.PACKAGES), help="names from settings.py")
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="number of mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="all mutants with this text in `FILE:LINE` or identity"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=90, help="time for the tests of one mutant")
    parser.add_argument("--again", type=float, default=300, help="time for those whose time was over; 0: leave them")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/mutants"))
    parser.add_argument(
        "--log", default="", metavar="FILE", help="where a child writes what pytest prints; the last stays"
    )
    parser.add_argument("--list", action="store_true", help="print the sample and run nothing")
    options = parser.parse_args()
    root = pathlib.Path.cwd()
    unknown = set(options.packages.split(",")) - set(settings.PACKAGES)
    if unknown:
        parser.error(f"--packages must be of {', '.join(settings.PACKAGES)}, not {', '.join(sorted(unknown))}")

    population, lines = {}, {}
    for package in options.packages.split(","):
        texts = {path: (root / path).read_text() for path in selection.files_of(package)}
        population[package] = [m for path, text in texts.items() for m in mutants_of(text, path, package)]
        lines[package] = sum(text.count("\n") for text in texts.values())
    every = [m for mutants in population.values() for m in mutants]
    if options.only:
        chosen = [m for m in every if options.only in f"{m.path}:{m.line} " or options.only in m.identity]
    else:
        chosen = sample(population, lines, options.sample, options.seed)
    print(f"{len(chosen)} of {len(every)} mutants")
    if options.list:
        print("\n".join(f"{m.path}:{m.line}:{m.column} {m.operator}  {m.old} -> {m.new}" for m in chosen))
        return 0

    table = root / settings.EXPLAINED
    entries = tomllib.loads(table.read_text()).get("mutant", []) if table.exists() else []
    explained = {entry["id"]: entry["reason"] for entry in entries}
    identities = {m.identity for m in every}
    stale = [i for i in explained if i not in identities and i.startswith(tuple({m.path for m in every}))]

    with tempfile.TemporaryDirectory(prefix="mfsim-mutants-") as scratch:
        cache = pathlib.Path(os.environ.get("MFSIM_CACHE_DIR") or "~/.cache/mfsim").expanduser()
        workers = []
        for k in range(options.workers):
            copy = pathlib.Path(scratch) / f"copy{k}"
            assemble(root, copy)
            workers.append(Worker(copy, cache))
        try:
            begin = time.monotonic()
            done = run_all(chosen, workers, options)
            late = [m for m, result in done if result["by"] == LATE]
            if late and options.again:
                print(f"{len(late)} again with {options.again:g} s each, because their time was over")
                options.seconds = options.again
                done = [(m, result) for m, result in done if result["by"] != LATE] + run_all(late, workers, options)
            seconds = time.monotonic() - begin
            wrong = false_kills(done, workers[0], options.log)
        finally:
            for worker in workers:
                worker.process.stdin.close()
                worker.process.wait()
    write(done, explained, options.out)

    survivors = [m for m, result in done if result["outcome"] == "survived"]
    open_ones = [m for m in survivors if m.identity not in explained]
    killed = [m.identity for m, result in done if result["outcome"] == "killed" and m.identity in explained]
    print(
        f"{len(done)} mutants in {seconds:.0f} s, {seconds / max(len(done), 1):.1f} s each: {len(done) - len(survivors)} "
        f"killed, {len(survivors)} survived, {len(open_ones)} of these unexplained; {options.out}/survivors.md"
    )
    for m in open_ones:
        print(f"unexplained: {m.identity}  ({m.path}:{m.line})")
    for identity in stale:
        print(f"stale, no such mutant: {identity}")
    for identity in killed:
        print(f"stale, a test kills it: {identity}")
    if wrong:
        print(f"{wrong} fails without a mutant, so kills by it prove nothing")
    return 1 if open_ones or stale or killed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
