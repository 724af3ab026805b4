"""Public names of packages stay what they are, whichever submodule is imported first."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

LOOK = """
import importlib, sys, types
package = importlib.import_module(sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
wrong = [name for name in package.__all__ if isinstance(getattr(package, name), types.ModuleType)]
assert not wrong, wrong
assert set(package.__all__) <= set(dir(package))
"""


@pytest.mark.parametrize("package", ["mfsim", "mfsim.quant", "mfsim.export"])
def test_no_submodule_replaces_a_public_name(package):
    found = importlib.import_module(package)
    modules = [f"{package}.{module.name}" for module in pkgutil.iter_modules(found.__path__)]
    subprocess.run([sys.executable, "-W", "ignore", "-c", LOOK, package, *modules], check=True)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match=r"module `mfsim\.quant` has no attribute `quantise`"):
        importlib.import_module("mfsim.quant").quantise  # noqa: B018
