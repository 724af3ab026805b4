"""docs/architecture.md names the folders that exist and the layers that are checked."""

from __future__ import annotations

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_layers_are_those_of_the_contract():
    layers = next(contract["layers"] for contract in CONTRACTS if contract["id"] == "layers")
    assert " > ".join(layers) in " ".join(PAGE.split())


def test_every_folder_is_in_the_tree_and_every_entry_exists():
    table = PAGE.split("## The tree")[1].split("\n## ")[0]
    listed = {name.strip("/") for name in re.findall(r"^\| `([^`]+)` \|", table, re.M)}
    folders = {"/".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "mfsim").rglob("__init__.py")}
    families = {name for name in folders if name.startswith("mfsim/ops/")}
    inner = {
        name for name in folders if name.count("/") > 1 and not name.startswith(("mfsim/kernels/", "mfsim/compiler/"))
    }
    wanted = folders - families - inner - {"mfsim", "mfsim/ops", "mfsim/compiler"}
    assert wanted <= listed, wanted - listed
    assert not [name for name in listed if "<" not in name and not (ROOT / name).exists()]
