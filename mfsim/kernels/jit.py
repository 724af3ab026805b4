"""`kernel`: how every loop in this room is compiled.

Kernels release the interpreter lock, never use fast-math, and are cached on disk. Numba keeps a
stale kernel when only a file that it imports changed, so the cache lies in a folder named by a
digest of every file in this room and of the versions of Numba and llvmlite.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import warnings

import llvmlite
import numba
from numba.core.serialize import ReduceMixin


def _cache_folder() -> pathlib.Path:
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    base = os.environ.get("MFSIM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "mfsim"
    )
    return pathlib.Path(base) / f"kernels-{digest.hexdigest()[:16]}"


def _enable_cache() -> bool:
    folder = _cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        warnings.warn(f"compiled kernels are not cached, because {folder} cannot be written", stacklevel=3)
        return False
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]  # numba makes its settings when it runs
    return True


CACHED = _enable_cache()


def kernel(function):
    """Compile `function` without the interpreter lock and without fast-math, cached on disk.

    What a closure holds is part of the key in the cache, and other kernels have a new key in every process.
    """
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    assert not any(isinstance(value, ReduceMixin) for value in held), f"{function} holds a kernel and is never cached"
    return numba.njit(nogil=True, cache=CACHED, error_model="numpy")(function)


def primitive(function):
    """Compile a primitive of `mfsim.kernels.primitives`; it is inlined into each kernel."""
    return numba.njit(nogil=True, cache=CACHED, inline="always")(function)
