"""Write a file whole or not at all: beside its place first, then renamed."""

from __future__ import annotations

import os
import pathlib
import tempfile

from mfsim.errors import MfsimError


def write_whole(path: str | os.PathLike[str], data: bytes, error: type[MfsimError] = MfsimError) -> pathlib.Path:
    """Write `data` to `path` and return the path; the folder must be there.

    Raises
    ------
    error
        If the file cannot be written; nothing half-written is left behind, and an older file stays.
    """
    path = pathlib.Path(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = pathlib.Path(file.name)
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # a temporary file is private; the file that a user asked for is not
        temporary.replace(path)
    except OSError as reason:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise error(f"`{path}` cannot be written: {reason.strerror or reason}") from reason
    return path
