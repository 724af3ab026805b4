"""What is mutated and which tests are run: data to edit when folders move."""

from __future__ import annotations

PACKAGES = {
    "ops": ("mfsim/ops/**/*.py",),
    "compiler": ("mfsim/compiler/**/*.py",),
    "parity": ("mfsim/parity/**/*.py",),
    "analysis": ("mfsim/analysis/**/*.py",),
}
"""Files of each package that can be named by `--packages`."""

LEFT_OUT = (
    "*/kernels.py",  # a mutated kernel compiles all that import it
    "*/fast.py",
    "*/torch.py",  # torch functions and layers have tests of their own, which train
    "*/quant.py",
)
"""Files that are never mutated."""

STAGES = {
    "ops": (
        ("tests/ops/{family}/test_{stem}*.py", "tests/ops/test_{stem}*.py"),
        ("tests/conformance/test_conformance.py@ops",),
        ("tests/ops/{family}", "tests/ops@mentions"),
        ("tests/analysis/test_count.py", "tests/analysis/test_widths.py"),
        ("tests/conformance/test_widths.py@ops", "tests/conformance/test_exact_words.py@ops"),
        ("tests/compiler@mentions", "tests/serialize@mentions", "tests/cim@mentions", "tests/simulate@mentions"),
    ),
    "compiler": (
        ("tests/compiler/test_{stem}*.py", "tests/compiler@mentions"),
        ("tests/compiler/test_errors.py", "tests/compiler/test_rules.py", "tests/compiler/test_products.py"),
        ("tests/compiler",),
        ("tests/serialize", "tests/export@mentions", "tests/sweep@mentions"),
    ),
    "parity": (
        ("tests/parity/test_{stem}*.py", "tests/parity"),
        ("tests@mentions",),
    ),
    "analysis": (
        ("tests/analysis/test_{stem}*.py",),
        ("tests/analysis",),
        ("tests/op_counter/test_count.py", "tests/conformance/test_widths.py", "tests/report@mentions"),
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
