"""What each room may import, read from the sources; the layers are a contract in pyproject.toml."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pathlib
import pkgutil
import sys

import pytest

from mfsim import ops

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = (
    *(
        "mfsim/api/networks.py",
        "mfsim/conversion/",
        "mfsim/nn/",
        "mfsim/op_counter/",
        "mfsim/quant/",
        "mfsim/train.py",
        "export/",
    ),
    *("mfsim/ops/*/torch.py", "mfsim/ops/*/quant.py", "mfsim/ops/torch_*.py"),
    *("mfsim/workflow/steps.py", "mfsim/parity/realisations.py"),
)
ONNX = (
    *("mfsim/compiler/", "mfsim/serialize/", "mfsim/parity/", "export/"),
    *("mfsim/ops/*/onnx*.py", "mfsim/ops/*/lowering.py", "mfsim/ops/integer_body.py", "mfsim/ops/model_bodies.py"),
)
KERNELS = ("mfsim/kernels/", "mfsim/ops/*/kernels.py", "mfsim/ops/*/fast.py")
ALLOWED = {
    "torch": TORCH,
    "brevitas": ("mfsim/quant/", "mfsim/ops/*/quant.py", "export/"),
    "safetensors": TORCH,
    "onnx": ONNX,
    "google": ONNX,  # protobuf, for the error of a damaged file
    "onnx_ir": ONNX,
    "onnxscript": ONNX,
    "onnxruntime": ("export/",),
    "numba": KERNELS,
    "llvmlite": KERNELS,
    "mpmath": ("mfsim/ops/*/*tables.py", "mfsim/ops/function_table.py"),
    "PIL": ("mfsim/data/",),
    "sklearn": ("mfsim/data/",),
    "typer": ("mfsim/cli/",),
    "rich": ("mfsim/cli/",),
    "numpy": ("mfsim/", "export/", "rtl_models/"),
    # Whichever of them makes a table's DataFrame.
    "pandas": ("mfsim/analysis/",),
    "polars": ("mfsim/analysis/",),
    "pyarrow": ("mfsim/analysis/",),
}
"""Where each package from outside may be imported, anywhere in a file. What is not listed may be imported nowhere."""

SOURCES = sorted(
    path.relative_to(ROOT) for folder in ("mfsim", "export", "rtl_models") for path in (ROOT / folder).rglob("*.py")
)


def imported(path: pathlib.Path) -> set[str]:
    """Return every module that a source file imports, inside functions too."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names.add(node.module)
    return names


def is_in(path: pathlib.Path, room: str) -> bool:
    """Whether a file lies in a folder (`a/`) or has a name of the given form."""
    return path.as_posix().startswith(room) if room.endswith("/") else path.match(room)


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_packages_from_outside(path):
    for module in imported(path):
        top = module.split(".")[0]
        if top != "mfsim" and top not in sys.stdlib_module_names:
            rooms = ALLOWED.get(top, ())
            assert any(is_in(path, room) for room in rooms), f"{path} must not import {module}"


@pytest.mark.parametrize("path", [p for p in SOURCES if p.is_relative_to("mfsim/kernels")], ids=str)
def test_kernels_know_nothing_else_of_mfsim(path):
    inside = {name for name in imported(path) if name.split(".")[0] == "mfsim"}
    assert all(name.startswith("mfsim.kernels") or name == "mfsim" for name in inside), inside


@pytest.mark.parametrize("path", [p for p in SOURCES if p.is_relative_to("mfsim/ops") and len(p.parts) > 3], ids=str)
def test_no_family_imports_another(path):
    family = path.parts[2]
    others = {info.name for info in pkgutil.iter_modules(ops.__path__) if info.ispkg} - {family}
    found = {name for name in imported(path) if name.startswith("mfsim.ops.") and name.split(".")[2] in others}
    assert not found, f"{path} must not import {', '.join(sorted(found))}"


OUTSIDE = sorted(
    path.relative_to(ROOT) for folder in ("benchmarks", "examples", "tools") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", OUTSIDE, ids=str)
def test_what_stands_beside_mfsim_imports_names_that_it_has(path):
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "mfsim":
            module = importlib.import_module(node.module)
            for alias in node.names:
                found = hasattr(module, alias.name) or importlib.util.find_spec(f"{node.module}.{alias.name}")
                assert found, f"{path} imports `{alias.name}`, which {node.module} does not have"
