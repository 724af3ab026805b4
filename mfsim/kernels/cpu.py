"""What the processor of this machine can do, and which of several fast kernels runs on it.

A fast kernel is written once for several levels of instructions and one of them is chosen when it is called, so
a compiled kernel that lies in the cache is never that of another machine or of another choice. `MFSIM_CPU` names
the best level that may be used: each path that a machine has can be tried there.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

import llvmlite.binding

VARIABLE = "MFSIM_CPU"
"""The environment variable that names the best level that may be used."""

_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")

_NEEDED = {
    "amx": (*_AVX512, "avx512vnni", "avx512vbmi", "amx-tile", "amx-int8"),
    "vbmi": (*_AVX512, "avx512vnni", "avx512vbmi"),
    "vnni": (*_AVX512, "avx512vnni"),
    "avx512": _AVX512,
    "avx2": ("avx2",),
    "portable": (),
}

ISAS = tuple(_NEEDED)
"""Every level, the best one first; a machine that has one has those behind it too."""


@functools.cache
def available() -> tuple[str, ...]:
    """Return the levels that this machine has, the best one first.

    The first call asks Linux for the AMX tiles, for all threads of the process.
    """
    features = llvmlite.binding.get_host_cpu_features()
    found = [name for name, needed in _NEEDED.items() if all(features.get(feature) for feature in needed)]
    return tuple(name for name in found if name != "amx" or _tiles_allowed())


def _tiles_allowed() -> bool:
    """Ask for the tiles with arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA); only x86-64 comes here."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).syscall(158, 0x1023, 18) == 0)


def best(forms: tuple[str, ...]) -> str:
    """Return the best of `forms` (levels, `portable` among them) that this machine has and `MFSIM_CPU` allows.

    Parameters
    ----------
    forms : tuple of str
        Levels of `ISAS` that a fast kernel is written for; it has "portable".

    Returns
    -------
    str
        The level, one of `forms`.

    Raises
    ------
    ValueError
        If `MFSIM_CPU` names no level, or one that this machine does not have.
    """
    limit = os.environ.get(VARIABLE) or available()[0]
    if limit not in available():
        why = "which this machine does not have" if limit in ISAS else "which is no level"
        raise ValueError(f"`{VARIABLE}` must be one of {', '.join(available())}, not {limit!r}, {why}")
    allowed = available()[available().index(limit) :]
    return next(level for level in allowed if level in forms)
