"""A keyword that a function does not have is answered with the one that was meant.

Python says `simulate() got an unexpected keyword argument 'bacth_size'`. Public functions and constructors say
"`simulate` has no keyword `bacth_size`; did you mean `batch_size`?", in an error that is an `MfsimError` and a
`TypeError`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mfsim.errors import KeywordError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type[Any])


def check_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` with a `KeywordError` for keywords that it does not have; signature and types stay.

    Parameters
    ----------
    function : without `**`, which takes every keyword.

    Examples
    --------
    >>> @check_keywords
    ... def double(codes, *, times=1):
    ...     return codes << times
    >>> double(3, tmies=2)
    Traceback (most recent call last):
    mfsim.errors.KeywordError: `double` has no keyword `tmies`; did you mean `times`?
    """
    return _checked(function, function.__name__)


def check_constructor(kind: C) -> C:
    """Give the constructor of the class `kind` a `KeywordError` for keywords that it does not have; return the class.

    Parameters
    ----------
    kind : type
        Class; its `__init__` is replaced.

    Returns
    -------
    type
        The same class.
    """
    kind.__init__ = _checked(kind.__init__, kind.__name__)
    return kind


def _checked(function: Callable[P, R], name: str) -> Callable[P, R]:
    by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return function
    known = {parameter.name: None for parameter in parameters if parameter.kind in by_name and parameter.name != "self"}

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs.keys() <= known.keys():
            wrong = next(keyword for keyword in kwargs if keyword not in known)
            keywords = ", ".join(f"`{keyword}`" for keyword in known)
            hint = did_you_mean(wrong, known) or (f"; it has {keywords}" if known else "; it has none")
            raise KeywordError(f"`{name}` has no keyword `{wrong}`{hint}")
        return function(*args, **kwargs)

    return checked
