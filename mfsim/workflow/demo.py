"""The demo: four networks of one shape, side by side, and what is expected of them.

Three of them multiply nowhere and one, the ordinary baseline, does. Each goes through the whole
pipeline on scikit-learn's digits. What falls short is said in a sentence; nothing is rounded away.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

from mfsim.analysis import strict_multiplication_free
from mfsim.errors import CountError
from mfsim.report import NetworkResult, write_report
from mfsim.run_folder import RunFolder, make_folder
from mfsim.workflow.settings import Settings
from mfsim.workflow.steps import run_network

DATA = "digits"

REFERENCES = 512
"""More than the test set has: all of it is computed from the definitions of the ops as well."""

LARGEST_LOSS = 0.01
"""Accuracy that the integer program may lose against float."""


@dataclass(frozen=True)
class Expected:
    """What is expected of a network: accuracy in float, and whether it multiplies."""

    name: str
    float_accuracy: float
    multiplies: bool = False


NETWORKS = (
    Expected("mf-mlp", 0.97),
    Expected("mf-cnn", 0.97),
    Expected("wht-cnn", 0.97),
    Expected("dense-cnn", 0.98, multiplies=True),
)


@dataclass(frozen=True)
class Demo:
    """What the demo found; `shortfalls` are sentences, none if everything is as expected."""

    results: tuple[NetworkResult, ...]
    shortfalls: tuple[str, ...]
    page: pathlib.Path


def shortfalls(expected: Expected, result: NetworkResult, check_reasons: list[str]) -> list[str]:
    """Return what falls short of `expected`, a sentence each.

    Parameters
    ----------
    expected : Expected
        Name, float accuracy as a fraction, and whether the network multiplies.
    result : NetworkResult
        Result of the network.
    check_reasons : list of str
        Limits that the check against float passed, from check.json.

    Returns
    -------
    list of str
        Empty if the result is as expected.
    """
    found = [f"{expected.name}: {reason}" for reason in check_reasons]
    floats, integer = result.accuracy["float"] or 0.0, result.accuracy["integer"] or 0.0
    if floats < expected.float_accuracy:
        found.append(f"{expected.name} reaches {floats:.2%} in float, and {expected.float_accuracy:.0%} is expected")
    if integer < floats - LARGEST_LOSS:
        found.append(f"{expected.name} reaches {integer:.2%} in integers, more than {LARGEST_LOSS:.0%} below float")
    found += [
        f"{expected.name}: {pair.mismatches} of {pair.compared} codes differ in {pair.name}"
        for pair in result.parity
        if not pair.equal
    ]
    try:
        strict_multiplication_free(result.counts)
    except CountError as error:
        if not expected.multiplies:
            found.append(f"{expected.name} is not multiplication-free: {error}")
    else:
        if expected.multiplies:
            found.append(f"{expected.name} should multiply, and no multiplication was counted")
    return found


def run_demo(
    folder: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    networks: tuple[Expected, ...] = NETWORKS,
    progress: Callable[[str, str, int, int], None] = lambda name, what, done, total: None,
    finished: Callable[[NetworkResult], None] = lambda result: None,
) -> Demo:
    """Run every network in a folder of its own below `folder` and write the report into `folder`.

    Parameters
    ----------
    folder : made where it is missing.
    settings : training and quantization; the same for all.
    progress : called with (network, what is done, steps done, steps in all).
    finished : called with the result of each network.
    """
    folder = make_folder(folder)
    results, missed = [], []
    for expected in networks:

        def show(what: str, done: int, total: int, name: str = expected.name) -> None:
            progress(name, what, done, total)

        result = run_network(folder / expected.name, expected.name, DATA, settings, progress=show)
        reasons = RunFolder(folder / expected.name).read("check.json")["reasons"]
        missed += shortfalls(expected, result, list(reasons))
        results.append(result)
        finished(result)
    page = write_report(results, folder, "Multiplication-free networks on digits")
    return Demo(tuple(results), tuple(missed), page)
