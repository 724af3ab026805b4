"""Train every attention preset in one small vision transformer, and `mf-vit`: float, then 8-bit integers.

    python examples/attention_study/study.py --data digits --seeds 3 --out studies/digits

Each finished point (unit, data, seed) is one file below OUT/points, written whole and named by the digest
of its settings, images and packages: a second start goes on where the first was stopped. The code of
mfsim is not part of that digest; take another folder after changing it. At the end of each point
study.json, study.csv and study.md are written. CIFAR-10 with the papers' settings is

    python examples/attention_study/study.py --data cifar10 --preset paper

with the data set in the current folder.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import point
import table
import torch

from mfsim.analysis.listing import write_text
from mfsim.errors import MfsimError, ShapeError, UnsupportedOpError, did_you_mean
from mfsim.run_folder import read_json, write_json
from mfsim.sweep.store import SweepFolder
from mfsim.workflow.summary import tool_versions

CHANGES = ("epochs", "quantized_epochs", "train", "validation", "test", "width", "depth", "patch")
"""Options that change one number of a preset."""


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", default="digits", help="digits, fashion-mnist, cifar10, or what mfsim train takes")
    parser.add_argument("--preset", default="reduced", choices=tuple(point.PRESETS_OF_STUDY))
    parser.add_argument("--units", nargs="*", default=list(point.UNITS), help="presets of attention, mf-vit; all")
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0")
    for name in CHANGES:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=f"instead of the preset's {name}")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("studies/attention"))
    parser.add_argument("--tables", action="store_true", help="compute nothing: write the tables of what is finished")
    parser.add_argument("--docs", type=pathlib.Path, help="a page whose tables are made anew at the end")
    options = parser.parse_args(given)
    for unit in options.units:
        if unit not in point.UNITS:
            raise UnsupportedOpError(
                f"a unit must be one of {', '.join(point.UNITS)}, not {unit!r}{did_you_mean(unit, point.UNITS)}"
            )
    if options.seeds < 1:
        raise MfsimError(f"`seeds` must be at least 1, not {options.seeds}")
    return options


def check_units(units: Sequence[str], setup: point.Setup) -> None:
    """Raise `ShapeError`, with the names of all such units, if some do not fit the model of `setup`."""
    unfit = {}
    for unit in units:
        try:
            point.network(point.same(unit, setup.options), setup, seed=0)
        except ShapeError as error:
            unfit[unit] = str(error)
    if unfit:
        unit, reason = next(iter(unfit.items()))
        raise ShapeError(
            f"{', '.join(unfit)} do not fit this {setup.model}; name the others with --units (`{unit}`: {reason})"
        )


def command(given: Sequence[str]) -> str:
    """Return the command that computes what `given` asks for."""
    about_tables = ("--tables", "--docs")
    words = [
        word
        for word, before in zip(given, ["", *given], strict=False)
        if word not in about_tables and before != "--docs"
    ]
    return shlex.join(["python", "examples/attention_study/study.py", *words])


def study(options: argparse.Namespace, shown: str) -> dict[str, Any]:
    """Compute the points that are missing, seed by seed, and return the content of study.json."""
    changes = {name: getattr(options, name) for name in CHANGES if getattr(options, name) is not None}
    setup = point.Setup.of(options.preset, options.data, changes)
    check_units(options.units, setup)
    folder = SweepFolder(options.out)
    keys = {(seed, unit): setup.key(unit, seed) for seed in range(options.seeds) for unit in options.units}
    content = report(folder, keys, setup, options, shown)
    for number, ((seed, unit), key) in enumerate(keys.items(), start=1):
        if folder.read(key) is None and not options.tables:
            figures = point.compute(point.same(unit, setup.options), setup, seed)
            folder.write(key, {"unit": unit, "data": options.data, "seed": seed, **figures})
            integer = "none" if figures["integer"] is None else f"{figures['integer']:.2%}"
            print(
                f"[{number}/{len(keys)}] {unit}, seed {seed}: float {figures['float']:.2%}, 8-bit integer {integer}, "
                f"{figures['seconds']:.0f} s",
                flush=True,
            )
            content = report(folder, keys, setup, options, shown)
    return content


def report(
    folder: SweepFolder,
    keys: dict[tuple[int, str], str],
    setup: point.Setup,
    options: argparse.Namespace,
    shown: str,
) -> dict[str, Any]:
    """Write the tables of the finished points; return the content of study.json."""
    rows, finished = [], 0
    for unit in options.units:
        found = [folder.read(keys[seed, unit]) for seed in range(options.seeds)]
        points = [content for content in found if content is not None]
        finished += len(points)
        stands = point.same(unit, setup.options)
        if points:
            rows.append(table.row(options.data, unit, points, f"the same network as `{stands}`" * (stands != unit)))
    about = {
        "data": options.data,
        "preset": options.preset,
        "model": setup.model,
        "options": setup.options,
        "input_shape": list(setup.dataset.input_shape),
        "images": {name: len(getattr(setup.dataset, name)) for name in ("train", "validation", "test")},
        "training": asdict(setup.training),
        "asked": len(keys),
        "finished": finished,
        "date": datetime.date.today().isoformat(),
        "tools": tool_versions(),
        "command": shown,
    }
    table.write(folder.path, about, rows)
    return about | {"rows": rows}


def main(given: Sequence[str]) -> None:
    """Run the study as `given` says; print its table."""
    options = arguments(given)
    torch.set_num_threads(1)
    content = study(options, command(given))
    print(table.markdown(content["rows"]))
    if options.docs is not None:
        folder = options.docs.with_suffix("")
        folder.mkdir(exist_ok=True)
        write_json(folder / f"{options.data}.json", read_json(options.out / "study.json"))
        write_text(options.docs, table.renew(options.docs, folder))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MfsimError as error:
        sys.exit(f"error: {error}")
