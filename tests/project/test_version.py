"""The version stands in mfsim/__init__.py; everything else repeats it, or reads it there."""

from __future__ import annotations

import datetime
import importlib.metadata
import pathlib
import re
import tomllib

from packaging.version import Version
from setuptools.config import expand

import mfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^## \[(?P<version>.+?)\](?: - (?P<date>.*))?$", re.MULTILINE)


def sections() -> list[tuple[str, str | None]]:
    """Return version and date of every section of the changelog, newest first."""
    return [(m["version"], m["date"]) for m in SECTION.finditer((ROOT / "CHANGELOG.md").read_text())]


def citation() -> dict[str, str]:
    """Return the fields of CITATION.cff that stand on one line."""
    return dict(re.findall(r'^([a-z-]+): "?(.+?)"?$', (ROOT / "CITATION.cff").read_text(), re.MULTILINE))


def test_packaging_reads_the_version_of_the_sources():
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert content["project"]["dynamic"] == ["version"]
    assert "version" not in content["project"]
    assert content["tool"]["setuptools"]["dynamic"] == {"version": {"attr": "mfsim.__version__"}}
    packages = content["tool"]["setuptools"]["package-dir"]
    assert expand.read_attr("mfsim.__version__", packages, ROOT) == mfsim.__version__


def test_what_is_installed_has_the_version_of_the_sources():
    assert importlib.metadata.version("mfsim") == mfsim.__version__


def test_the_newest_released_section_of_the_changelog_is_the_version():
    (unreleased, no_date), *released = sections()
    assert (unreleased, no_date) == ("Unreleased", None)
    assert released[0][0] == mfsim.__version__


def test_every_released_section_has_its_date_and_all_are_in_order():
    released = sections()[1:]
    dates = [datetime.date.fromisoformat(date) for _, date in released]
    assert dates == sorted(dates, reverse=True)
    versions = [Version(version) for version, _ in released]
    assert versions == sorted(set(versions), reverse=True)


def test_the_citation_is_of_the_newest_release():
    version, date = sections()[1]
    assert (citation()["version"], citation()["date-released"]) == (version, date)
