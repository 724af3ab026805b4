"""A mistyped keyword of anything public is answered with the one that was meant."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect

import pytest

import mfsim
from mfsim.errors import KeywordError
from mfsim.keywords import check_keywords

PACKAGES = ("mfsim", "mfsim.nn", "mfsim.quant", "mfsim.export", "mfsim.simulate", "mfsim.sweep")
NO_KEYWORDS = (Exception, enum.Enum)


def public():
    """Return every public function and class that has keywords, by package and name."""
    found = {}
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            value = getattr(package, name)
            if not callable(value) or (isinstance(value, type) and issubclass(value, NO_KEYWORDS)):
                continue
            if keywords(value):
                found[f"{package.__name__}.{name}"] = value
    return found


def keywords(function):
    """Return the keywords that a function or constructor takes."""
    by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind in by_name]


PUBLIC = public()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_mistyped_keyword_is_named_with_the_one_that_was_meant(name):
    function = PUBLIC[name]
    known = max(keywords(function), key=len)
    with pytest.raises(KeywordError) as error:
        function(**{f"{known}z": 1})
    wanted = f"`{function.__name__}` has no keyword `{known}z`; "
    assert str(error.value) in {wanted + f"did you mean `{meant}`?" for meant in keywords(function)}
    assert isinstance(error.value, mfsim.MfsimError)
    assert isinstance(error.value, TypeError)


def test_there_are_public_functions():
    assert {"mfsim.simulate", "mfsim.train", "mfsim.Settings", "mfsim.nn.MFConv2d", "mfsim.export.Limits"} <= set(
        PUBLIC
    )
    assert len(PUBLIC) > 90


def test_the_example_of_the_documentation():
    with pytest.raises(KeywordError) as error:
        mfsim.simulate(None, None, bacth_size=3)
    assert str(error.value) == "`simulate` has no keyword `bacth_size`; did you mean `batch_size`?"


def test_a_keyword_that_is_like_no_other():
    with pytest.raises(KeywordError) as error:
        mfsim.Settings(zzz=1)
    fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(mfsim.Settings))
    assert str(error.value) == f"`Settings` has no keyword `zzz`; it has {fields}"
    with pytest.raises(KeywordError) as error:
        check_keywords(silent)(zzz=1)
    assert str(error.value) == "`silent` has no keyword `zzz`; it has none"


def silent(value, /):
    """Take a value by its place only."""
    return value


def anything(**keywords):
    """Take every keyword."""
    return keywords


def test_what_takes_every_keyword_stays_as_it_is():
    assert check_keywords(anything) is anything


def test_right_calls_signature_and_documentation_are_unchanged():
    assert check_keywords(silent)(3) == 3
    assert mfsim.Format(bits=8, signed=False) == mfsim.Format(8, False)
    assert keywords(mfsim.Format) == [field.name for field in dataclasses.fields(mfsim.Format)]
    assert "program" in keywords(mfsim.count)
    assert mfsim.count.__doc__.startswith("Return the operations")
