"""Write a file whole or not at all: beside its place first, then renamed."""

from __future__ import annotations

import os
import pathlib
import tempfile

from mfsim.errors import MfsimError


def write_whole(
    path: str | os.PathLike[str], data: bytes, error: type[MfsimError] = MfsimError, *, durable: bool = False
) -> pathlib.Path:
    """Write `data` to `path` and return the path; the folder must be there.

    With `durable` the file survives a loss of power from the moment that this returns.

    Parameters
    ----------
    path : str or path
        File to write.
    data : bytes
        Content.
    error : type of MfsimError
        Type of the error.
    durable : bool
        Whether to flush the file and its folder to the disk.

    Returns
    -------
    path
        The file.

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
            if durable:
                file.flush()
                os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # a temporary file is private; the file that a user asked for is not
        temporary.replace(path)
        if durable:
            _sync_folder(path.parent)
    except OSError as reason:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise error(f"`{path}` cannot be written: {reason.strerror or reason}") from reason
    return path


def _sync_folder(path: pathlib.Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
