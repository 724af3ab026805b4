"""Which tests a mutant of a file is run against."""

from __future__ import annotations

import ast
import fnmatch
import functools
import pathlib
import re

from tools.mutants import settings


@functools.cache
def files_of(package: str) -> list[str]:
    """Return the files of a package that are mutated."""
    found = {str(p) for pattern in settings.PACKAGES[package] for p in pathlib.Path().glob(pattern)}
    return sorted(p for p in found if not any(fnmatch.fnmatch(p, pattern) for pattern in settings.LEFT_OUT))


@functools.cache
def _importers() -> dict[str, set[str]]:
    """Return for each module of `ops` the modules of `ops` that import it."""
    graph: dict[str, set[str]] = {}
    for path in files_of("ops"):
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for node in ast.walk(ast.parse(pathlib.Path(path).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mfsim"):
                for name in [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]:
                    graph.setdefault(name, set()).add(module)
    return graph


@functools.cache
def ops_of(path: str) -> tuple[str, ...]:
    """Return the ops whose files import a file of `ops`, itself included; none where that is all of them."""
    waiting = [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")]
    reached = set(waiting)
    while waiting:
        for module in _importers().get(waiting.pop(), set()) - reached:
            reached.add(module)
            waiting.append(module)
    every = [p for p in files_of("ops") if _declares_op(p)]
    ops = [p for p in every if p.removesuffix(".py").replace("/", ".") in reached]
    return () if len(ops) == len(every) else tuple(pathlib.Path(p).stem for p in ops)


@functools.cache
def _declares_op(path: str) -> bool:
    return bool(re.search(r"^(OP|[A-Z_0-9]+) = Op\(|^OP\b.*=", pathlib.Path(path).read_text(), re.MULTILINE))


@functools.cache
def _test_files(under: str) -> list[str]:
    return sorted(str(p) for p in pathlib.Path(under).rglob("test_*.py"))


def _resolve(entry: str, path: str) -> list[tuple[str, str]]:
    """Return pairs of a test path and a pattern of the test names to keep."""
    source = pathlib.Path(path)
    place, _, keep = entry.partition("@")
    place = place.format(stem=source.stem, family=source.parent.name)
    if keep == "mentions":
        words = "|".join(re.escape(word) for word in {source.stem, *ops_of(path)} - {"__init__"})
        return [(p, "") for p in _test_files(place) if words and _mentions(p, words)]
    pattern = ""
    if keep == "ops":
        pattern = r"\[(" + "|".join(ops_of(path)) + ")-" if ops_of(path) else ""
    elif keep:
        pattern = rf"::test_{keep}\b"
    return [(str(p), pattern) for p in sorted(pathlib.Path().glob(place))]


@functools.cache
def _mentions(path: str, words: str) -> bool:
    """Say whether a test names one of the words as a text, as a module or in an import."""
    pattern = rf"[\"'/]({words})\b|mfsim[\w.]*\.({words})\b|\bimport [^\n]*\b({words})\b"
    return bool(re.search(pattern, pathlib.Path(path).read_text()))


def stages_of(package: str, path: str) -> list[list[tuple[str, str]]]:
    """Return the runs of a file, each a list of test paths and patterns, without what an earlier run has."""
    stages, seen = [], set()
    for entries in settings.STAGES[package]:
        stage = []
        for entry in entries:
            for target in _resolve(entry, path):
                if target not in seen:
                    seen.add(target)
                    stage.append(target)
        if stage:
            stages.append(stage)
    return stages
