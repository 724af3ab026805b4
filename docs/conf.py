"""Sphinx settings: Markdown pages, an API reference from docstrings, the furo theme, and the version of the package."""

from __future__ import annotations

import re

from mfsim import __version__

project = "mfsim"
author = "mfsim contributors"
copyright = "mfsim contributors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mfsim {version}"
# Links are to files of this documentation only, so a broken one is an error of ours.
nitpicky = True
# Signatures name types of NumPy, PyTorch and ONNX, and aliases of our own, that have no page here.
nitpick_ignore_regex = [(r"py:.*", r".*")]
# A type such as `codes` or `op` in a docstring is a word, though classes have attributes of that name.
suppress_warnings = ["ref.python"]

# Single backticks in docstrings are code.
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False


MARKUP = re.compile(r"(`[^`]*`)|([|*])|(?<=\w)(_)(?!\w)")


def _escape_formulas(app, what, name, obj, options, lines):
    """Escape bars, stars and trailing underscores outside backticks: docstrings write formulas as plain text."""
    literal = None
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith(">>>"):
            lines[k] = MARKUP.sub(lambda m: m[1] or f"\\{m[2] or m[3]}", line)
        if line.endswith("::"):
            literal = indent


def _leave_classes_to_their_page(app, what, name, obj, skip, options):
    """Skip classes on the page of `mfsim`: each is described where it is defined."""
    return True if app.env.docname == "api/mfsim" and isinstance(obj, type) else skip


def setup(app):
    # Before napoleon, which writes markup of its own.
    app.connect("autodoc-process-docstring", _escape_formulas, priority=100)
    app.connect("autodoc-skip-member", _leave_classes_to_their_page)
