"""Run plain kernels on counting integers.

`rebuild` executes the source of a kernel file again, with the compiler left out and every primitive
replaced by one that counts itself. Data are `Code` objects, which have no operators: whatever a
kernel does to a code outside the primitives fails. Constants stay ordinary integers: work on them
alone is done beforehand and is not counted.
"""

from __future__ import annotations

import collections
import importlib
import types

import numpy as np

from mfsim.simulate.exact_words import rebuilt_kernels


class Code:
    """An integer that only the counting primitives can read."""

    __slots__ = ("value",)
    __hash__ = None

    def __init__(self, value: int) -> None:
        self.value = int(value)

    def __eq__(self, other):
        raise TypeError("a code was compared outside the primitives")

    def __bool__(self):
        raise TypeError("a code was tested outside the primitives")

    def __index__(self):
        raise TypeError("a code was used as an index outside the primitives")


class Truth:
    """The result of a comparison: only `select` may read it."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = bool(value)

    def __bool__(self):
        raise TypeError("a comparison decided control flow; use select")


def _value(code):
    return code.value if isinstance(code, (Code, Truth)) else int(code)


OPERANDS = {
    **dict.fromkeys(("addsub", "less", "mul", "divide", "shift_left", "shift_right"), (0, 1)),
    **dict.fromkeys(("negate", "absolute", "sign", "tie_to_even", "root"), (0,)),
    **{"select": (1, 2), "lookup": (1,)},
}
"""Arguments of each primitive that are operands; a mode or a condition is none."""

MODES = {"addsub": 2, "negate": 1}
"""The argument that is a mode: a sign, 0 for a term that is left out."""


class Counter:
    """The primitives, counting their executions in `counts`.

    `executions` lists (primitive, values of the operands) in their order; those of a lookup are its index
    and what it finds.
    """

    def __init__(self) -> None:
        self.counts = collections.Counter()
        self.executions = []
        self.module = types.ModuleType("mfsim.kernels.primitives")
        original = importlib.import_module("mfsim.kernels.primitives")
        for name in dir(original):
            function = getattr(original, name)
            if hasattr(function, "py_func"):
                setattr(self.module, name, self._counting(name, function.py_func))

    def _counting(self, name, function):
        primitive = function.__doc__.split(":")[0]

        def counted(*arguments):
            if primitive != "Nothing":
                self.counts[primitive] += 1
                self.executions.append((primitive, [_value(arguments[k]) for k in OPERANDS[name]]))
            if name in MODES and _value(arguments[MODES[name]]) not in (-1, 0, 1):
                raise TypeError(f"the mode of {name} must be a sign, not {_value(arguments[MODES[name]])}")
            if name == "lookup":
                found = Code(arguments[0][_value(arguments[1])])
                self.executions[-1][1].append(found.value)
                return found
            if name == "select":
                return Code(_value(arguments[1]) if _value(arguments[0]) else _value(arguments[2]))
            plain = function(*(_value(a) for a in arguments))
            if name in ("host_index", "host_differs"):
                return plain
            return Truth(plain) if isinstance(plain, (bool, np.bool_)) else Code(plain)

        return counted


def rebuild(name: str, counter: Counter) -> types.ModuleType:
    """Return the kernels of the family of op `name` as pure Python with the primitives of `counter`."""
    return rebuilt_kernels(name, counter.module)


def codes(array: np.ndarray) -> np.ndarray:
    """Return `array` with every element wrapped as a `Code`."""
    wrapped = np.empty(array.shape, dtype=object)
    flat, source = wrapped.reshape(-1), np.asarray(array).reshape(-1)
    for i in range(flat.size):
        flat[i] = Code(source[i])
    return wrapped


def values(array: np.ndarray) -> np.ndarray:
    """Return the integers of an array of codes as int64."""
    return np.array([_value(c) for c in array.reshape(-1)], dtype=np.int64).reshape(array.shape)
