"""`SweepFolder`: the points of a sweep on disk, each durable from the moment that it is finished.

    plan.json               which model and data the sweep is of, and what was asked for last
    points/<key>.json       one finished point: its figures, or the sentence why it failed
    sweep.csv, sweep.json   the points of the last call, written at its end
    <picture>.svg           curves, or bars by layer

A point's file is written whole, synced and renamed, and its name is the digest of all that determines
its content. So a file that is there is right and complete, whoever wrote it; two processes in one folder do at
worst the same work twice, and a kill loses only what is being computed.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import time
from collections.abc import Mapping
from typing import Any

from mfsim.errors import SweepError
from mfsim.files import write_whole
from mfsim.run_folder import make_folder, read_json

DIGITS = 12
"""Digits of a digest that a person reads."""
LEFT_BEHIND = 3600.0
"""Seconds after which a half-written file is certainly no one's."""


class SweepFolder:
    """The folder of a sweep, made where it is missing."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.points = make_folder(make_folder(path) / "points")

    @classmethod
    def open(cls, path: pathlib.Path, plan: Mapping[str, Any], identity: Mapping[str, str]) -> SweepFolder:
        """Return the folder, with `plan` as its plan.

        Parameters
        ----------
        path : pathlib.Path
            The folder; made if missing.
        plan : what is asked for; it replaces what was asked for last.
        identity : names of entries of `plan` that must stay as they are, with what each is for a person.

        Returns
        -------
        SweepFolder
            The folder, with what it holds already.

        Raises
        ------
        SweepError
            If the folder is another sweep's, or holds something else.
        """
        before = path / "plan.json"
        if before.is_file():
            known = read_json(before)
            for name, what in identity.items():
                if known.get(name) != plan[name]:
                    raise SweepError(
                        f"`{path}` is a sweep of {what} {str(known.get(name))[:DIGITS]}, and that is {plan[name][:DIGITS]} now; "
                        "choose another --out, or remove that folder"
                    )
        elif path.is_dir() and any(not _may_be_there(entry) for entry in path.iterdir()):
            raise SweepError(f"`{path}` must be a folder of `mfsim sweep`, or empty: it has files and no plan.json")
        folder = cls(path)
        write_whole(before, (json.dumps(plan, indent=1) + "\n").encode(), durable=True)
        folder._tidy()
        return folder

    def _tidy(self) -> None:
        """Remove what killed processes left half-written."""
        for path in (*self.points.glob(".*"), *self.path.glob(".plan.json.*")):
            with contextlib.suppress(FileNotFoundError):  # another process has finished it meanwhile
                if path.stat().st_mtime < time.time() - LEFT_BEHIND:
                    path.unlink()

    def read(self, key: str) -> dict[str, Any] | None:
        """Return the content of a finished point, or None if it is not there or damaged.

        Parameters
        ----------
        key : str
            Key of the point, see `mfsim.sweep.keys.point_key`.

        Returns
        -------
        dict or None
            What `write` kept, and `key`.
        """
        try:
            content = json.loads((self.points / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) and content.get("key") == key else None

    def write(self, key: str, content: Mapping[str, Any]) -> None:
        """Keep a finished point for good.

        Parameters
        ----------
        key : str
            Key of the point, see `mfsim.sweep.keys.point_key`.
        content : mapping
            What `json.dumps` takes, without NaN and infinity: `figures` and `error`.

        Raises
        ------
        ValueError
            If a figure is NaN or infinite.
        MfsimError
            If the file cannot be written.
        """
        text = json.dumps({"key": key, **content}, indent=1, allow_nan=False) + "\n"
        write_whole(self.points / f"{key}.json", text.encode(), durable=True)


def _may_be_there(path: pathlib.Path) -> bool:
    """Whether a start that was killed before it wrote plan.json can have left `path`."""
    return path.name.startswith(".plan.json.") or (path.name == "points" and path.is_dir() and not any(path.iterdir()))
