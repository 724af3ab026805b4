"""`public`: the names of a package that are imported when they are first used.

Importing a submodule sets it as an attribute of its package. Where a public name is also that of a
submodule (`mfsim.export.check` is a function, and so is the file in which it lies), the package keeps
the public one, in whichever order the two are imported. `lazy_loader` 0.6 keeps it only where the name
comes from the submodule of the same name; a function `train` of another file would turn into `train.py`.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Mapping


def public(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for `package`.

    Parameters
    ----------
    package : its `__name__`.
    homes : for each public name the full name of the module that has it.
    """
    module = sys.modules[package]

    class Package(types.ModuleType):
        """A package whose public names no submodule replaces."""

        def __setattr__(self, name: str, value: object) -> None:
            if name not in homes or not isinstance(value, types.ModuleType):
                super().__setattr__(name, value)

    module.__class__ = Package

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *homes})

    return get, names
