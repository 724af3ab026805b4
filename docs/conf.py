"""Sphinx settings: Markdown pages, the furo theme, and the version of the package."""

from __future__ import annotations

import pathlib
import tomllib

_project = tomllib.loads((pathlib.Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]

project = "mfsim"
author = "the mfsim developers"
copyright = "the mfsim developers"
version = release = _project["version"]
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mfsim {version}"
# Links are to files of this documentation only, so a broken one is an error of ours.
nitpicky = True
