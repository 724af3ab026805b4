"""`kernel`: how every kernel is compiled.

Kernels release the interpreter lock, never use fast-math, and are cached on disk. Numba keeps a stale kernel when
only a file that it imports changed, so the kernels of a file lie in a folder of their own, named by a digest of that
file, of every file of mfsim that it imports, directly or not, and of the versions of Numba and llvmlite.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import pathlib
import sys
import warnings

import llvmlite
import numba
from numba.core.serialize import ReduceMixin


def _base_folder() -> pathlib.Path:
    base = os.environ.get("MFSIM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "mfsim"
    )
    return pathlib.Path(base)


def _is_writable(folder: pathlib.Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        warnings.warn(f"compiled kernels are not cached, because {folder} cannot be written", stacklevel=3)
        return False
    return True


CACHED = _is_writable(_base_folder())


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Return the modules of the same top-level package that `module`, which is being imported, imports at its top."""
    top = module.partition(".")[0]
    names = []
    for node in ast.parse(pathlib.Path(str(sys.modules[module].__file__)).read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == top:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.partition(".")[0] == top]
    return tuple(name for name in names if getattr(sys.modules.get(name), "__file__", None))


def files_of(module: str) -> list[pathlib.Path]:
    """Return the files that decide the kernels of `module`: its own, and those that it imports, directly or not.

    Parameters
    ----------
    module : str
        Dotted name of a module that is imported.

    Returns
    -------
    list of pathlib.Path
        Source files, in the order of their modules' names.
    """
    found, todo = set(), [module]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _imports(name)
    return [pathlib.Path(str(sys.modules[name].__file__)) for name in sorted(found)]


@functools.cache
def cache_folder(module: str) -> pathlib.Path:
    """Return the folder in which the compiled kernels of `module` are kept.

    Parameters
    ----------
    module : str
        Dotted name of a module that is imported.

    Returns
    -------
    pathlib.Path
        Folder named by the last part of `module` and 16 hexadecimal digits; it need not exist yet.
    """
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for path in files_of(module):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return _base_folder() / f"{module.rpartition('.')[2]}-{digest.hexdigest()[:16]}"


def _compiled(function, **options):
    if CACHED:
        # Numba reads its settings when a function is decorated.
        numba.config.CACHE_DIR = str(cache_folder(function.__module__))  # type: ignore[attr-defined]
    return numba.njit(nogil=True, cache=CACHED, **options)(function)


def kernel(function):
    """Compile `function` without the interpreter lock and without fast-math, cached on disk.

    What a closure holds is part of the key in the cache, and other kernels have a new key in every process.

    Parameters
    ----------
    function : callable
        Python function in the subset that Numba compiles in nopython mode.

    Returns
    -------
    numba dispatcher
        Compiled on its first call with each set of argument types.

    Raises
    ------
    AssertionError
        If a closure of `function` holds another kernel.
    """
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    assert not any(isinstance(value, ReduceMixin) for value in held), f"{function} holds a kernel and is never cached"
    return _compiled(function, error_model="numpy")


def primitive(function):
    """Compile a primitive of `mfsim.kernels.primitives`; it is inlined into each kernel.

    Parameters
    ----------
    function : callable
        Python function of int64 scalars.

    Returns
    -------
    numba dispatcher
        What kernels call.
    """
    return _compiled(function, inline="always")
