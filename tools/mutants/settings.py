"""What is mutated and which tests are run: data to edit when folders move."""

from __future__ import annotations

PACKAGES = {
    "ops": ("mfsim/ops/**/*.py",),
    "compiler": ("mfsim/compiler/**/*.py",),
    "parity": ("mfsim/parity.py", "mfsim/reference.py", "mfsim/parity/**/*.py"),
    "analysis": ("mfsim/analysis/**/*.py",),
}
"""Files of each package that can be named by `--packages`."""

LEFT_OUT = (
    "*_cases.py",  # cases are test data
    "*/kernels.py",  # a mutated kernel compiles all that import it
    "*/fast.py",
)
"""Files that are never mutated."""

STAGES = {
    "ops": (
        ("tests/conformance/test_conformance.py@ops",),
        ("tests/ops/test_{stem}*.py", "tests/ops/{family}/test_{stem}*.py", "tests/ops@mentions"),
        ("tests/conformance/test_integer.py@ops", "tests/conformance/test_onnx.py@ops"),
        ("tests/analysis/test_count.py", "tests/analysis/test_widths.py"),
        ("tests/compiler@mentions", "tests/integer@mentions", "tests/cim@mentions", "tests/simulate@mentions"),
    ),
    "compiler": (
        ("tests/compiler/test_{stem}*.py", "tests/compiler@mentions"),
        ("tests/compiler/test_errors.py", "tests/compiler/test_rules.py", "tests/compiler/test_products.py"),
        ("tests/compiler",),
        ("tests/integer", "tests/export@mentions", "tests/sweep@mentions"),
    ),
    "parity": (
        ("tests/test_{stem}*.py", "tests/parity"),
        ("tests@mentions",),
    ),
    "analysis": (
        ("tests/analysis/test_{stem}*.py",),
        ("tests/analysis",),
        ("tests/conformance/test_conformance.py@count", "tests/shapes/test_count.py", "tests/report@mentions"),
        ("tests@mentions",),
    ),
}
"""Tests of each package in the order of the runs; the first failure ends them.

`{stem}` is the file's name without its suffix, `{family}` its folder. `@ops` keeps the parametrised tests of the ops
that import the file, `@mentions` the test files that contain the stem or one of these ops as a word, and `@NAME` the
tests called `test_NAME`.
"""

EXPLAINED = "tools/mutants/explained.toml"
"""Survivors that are accepted, each with its reason."""

PRELOADED = ("mfsim.kernels",)
"""Packages that a worker imports once, because no mutant changes them or what they import."""
