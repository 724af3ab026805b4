"""The report on the papers, made once for all tests of it."""

from __future__ import annotations

import pytest

from examples.papers import report


@pytest.fixture(scope="session")
def found():
    """Return the report on all papers."""
    return report()
