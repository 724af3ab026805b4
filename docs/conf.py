"""Sphinx settings: Markdown pages, the furo theme, and the version of the package."""

from __future__ import annotations

from mfsim import __version__

project = "mfsim"
author = "mfsim contributors"
copyright = "mfsim contributors"
version = release = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mfsim {version}"
# Links are to files of this documentation only, so a broken one is an error of ours.
nitpicky = True
