"""The plain kernel of a node with every intermediate held against its proved word: slow, for debugging.

`instrumented` runs the source of a kernel again as plain Python, in integers that never wrap, and checks the
values that `Op.held` names. A key of `held` is

    function.name           every value that is assigned to `name` (or to its elements) in `function`
    function.return         every value that `function` returns
    function.called         every result of `called(...)` in `function`
    function.outer.called   those that are arguments of `outer(...)`

where caller>function.x is the same for calls from `caller` alone. `plain` and `run` are the functions `plain_<op>` and
`run_<op>` of the op itself; a leading underscore of a function is left out.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import importlib
import importlib.util
import pathlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mfsim import ops
from mfsim.errors import WordOverflowError
from mfsim.ir.formats import Format
from mfsim.ir.program import Node, Program

Run = Callable[[Sequence[np.ndarray], Mapping[str, Any], Sequence[np.ndarray]], int | None]
Check = Callable[[int], None]
"""Called with each value of a word."""

_PACKAGE = "mfsim."
_PRIMITIVES, _COMPILER = "mfsim.kernels.primitives", "mfsim.kernels.jit"


def exact_kernel_of(program: Program, node: Node) -> Run:
    """Return the plain kernel of a node that checks every word of it.

    Parameters
    ----------
    program, node
        Whose words are `node.words`, and for the outputs the formats of their tensors.

    Returns
    -------
    callable
        `run(inputs, attributes, outputs)` on int64 arrays, as of any plain kernel. It raises
        `WordOverflowError` at the first value that its word cannot hold.
    """

    def checked(word: str) -> Check | None:
        return _check(node, f"word `{word}`", node.words[word]) if word in node.words else None

    kernel = instrumented(node.op, checked)
    checks = [_check(node, f"output `{tensor.name}`", tensor.format) for tensor in program.outputs_of(node)]

    def run(inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]) -> int | None:
        results = [np.empty(y.shape, dtype=object) for y in outputs]
        events = kernel([x.astype(object) for x in inputs], attributes, results)
        for check, y, codes in zip(checks, outputs, results, strict=True):
            _each(check, codes)
            y[...] = codes
        return events

    return run


def instrumented(op: str, check_of: Callable[[str], Check | None]) -> Run:
    """Return the plain kernel of `op` as Python on object arrays, with the checks of its words.

    Parameters
    ----------
    op : name of an op
    check_of : returns what each value of a word is given to, or None for a word that the node does not have

    Raises
    ------
    LookupError
        If `held` of the op names a value that its kernel does not have.
    """
    holds: dict[str, list[tuple[str, Check]]] = {}
    for key, held in ops.get(op).held.items():
        caller, _, place = key.rpartition(">")
        for word in (held,) if isinstance(held, str) else held:
            check = check_of(word)
            if check is not None:
                holds.setdefault(place, []).append((caller, check))
    primitives = types.ModuleType(_PRIMITIVES)
    for name, function in vars(importlib.import_module(_PRIMITIVES)).items():
        if hasattr(function, "py_func"):
            setattr(primitives, name, function.py_func)
    rebuilt = _Rebuilt(op, holds, primitives)
    run: Run = getattr(rebuilt.load(_kernels_of(op)), f"run_{op}")
    if rebuilt.missing:
        raise LookupError(
            f"`held` of op `{op}` names {', '.join(sorted(rebuilt.missing))}, which its kernel does not have"
        )
    return run


def rebuilt_kernels(op: str, primitives: types.ModuleType) -> Any:
    """Return the plain kernels of an op's family as pure Python, on other primitives.

    Parameters
    ----------
    op : str
        Name of an op.
    primitives : module
        Takes the place of `mfsim.kernels.primitives`: functions of the same names.

    Returns
    -------
    module
        With `run_<op>` of each op of the family; nothing in it is compiled.
    """
    return _Rebuilt(op, {}, primitives).load(_kernels_of(op))


def _kernels_of(op: str) -> str:
    return f"mfsim.ops.{ops.family_of(op)}.kernels"


def _check(node: Node, what: str, word: Format) -> Check:
    lo, hi = word.lo, word.hi

    def check(value: int) -> None:
        if not lo <= value <= hi:
            raise WordOverflowError(f"the {what} of node `{node.name}` is {word}, which cannot hold {int(value)}")

    return check


def _each(check: Check, values: np.ndarray) -> None:
    if np.size(values):
        check(np.min(values))
        check(np.max(values))


class _Rebuilt:
    """Kernel files as plain Python: nothing is compiled, primitives are those given, `holds` are called.

    `missing` are the places of `holds` that have not been found in what was loaded.
    """

    def __init__(self, op: str, holds: Mapping[str, Sequence[tuple[str, Check]]], primitives: types.ModuleType) -> None:
        self._op, self._holds = op, holds
        self.missing = set(holds)
        self._modules = {_PRIMITIVES: primitives, _COMPILER: types.ModuleType(_COMPILER)}
        self._modules[_COMPILER].kernel = lambda function: function  # type: ignore[attr-defined]

    def load(self, target: str) -> Any:
        """Return module `target`, rebuilt."""
        if target in self._modules:
            return self._modules[target]
        module = self._modules[target] = types.ModuleType(target)
        path, tree = _parsed(target)
        placed = _Placed(self._op, self._holds)
        code = compile(ast.fix_missing_locations(placed.visit(copy.deepcopy(tree))), str(path), "exec")
        self.missing -= placed.places
        vars(module).update(placed.functions, __builtins__={**vars(builtins), "__import__": self._import})
        exec(code, vars(module))
        return module

    def _import(self, target: str, *arguments: Any) -> Any:
        if target in self._modules or _is_kernel(target):
            return self.load(target)
        return builtins.__import__(target, *arguments)


@functools.cache
def _parsed(target: str) -> tuple[pathlib.Path, ast.Module]:
    found = importlib.util.find_spec(target)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"no source of {target}")
    path = pathlib.Path(found.origin)
    return path, ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _is_kernel(target: str) -> bool:
    """Return whether a module of mfsim has compiled functions, or imports them from one that has."""
    if not target.startswith(_PACKAGE):
        return False
    imported = {
        node.module for node in ast.walk(_parsed(target)[1]) if isinstance(node, ast.ImportFrom) and node.module
    }
    return bool(imported & {_PRIMITIVES, _COMPILER}) or any(map(_is_kernel, sorted(imported)))


def _role(function: str, op: str) -> str:
    """Return how a key of `held` names a function: `plain` and `run` are those of the op itself."""
    name = function.lstrip("_")
    return name.removesuffix(f"_{op}") if name in (f"plain_{op}", f"run_{op}") else name


class _Placed(ast.NodeTransformer):
    """Puts a call around each value that is held; `functions` are what is called, by name, `places` where."""

    def __init__(self, op: str, holds: Mapping[str, Sequence[tuple[str, Check]]]) -> None:
        self.functions: dict[str, Callable[[Any], Any]] = {}
        self.places: set[str] = set()
        self._op, self._holds = op, holds
        self._function, self._scalar = "", False
        self._outer: list[str] = []

    def _held(self, name: str, value: ast.expr, scalar: bool | None = None) -> ast.expr:
        place = f"{self._function}.{name}"
        self.places.add(place)
        for caller, check in self._holds.get(place, ()):
            given = f"_held_{len(self.functions)}"
            self.functions[given] = _passed(check, caller, self._op, self._scalar if scalar is None else scalar)
            value = ast.Call(ast.Name(given, ast.Load()), [value], [])
        return value

    def _assigned(self, target: ast.expr, value: ast.expr) -> ast.expr:
        if isinstance(target, ast.Name):
            return self._held(target.id, value)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            whole = any(isinstance(node, ast.Slice) for node in ast.walk(target.slice))
            return self._held(target.value.id, value, self._scalar and not whole)
        return value

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before = self._function, self._scalar
        compiled = any(isinstance(d, ast.Name) and d.id == "kernel" for d in node.decorator_list)
        self._function, self._scalar = _role(node.name, self._op), compiled
        self.generic_visit(node)
        self._function, self._scalar = before
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._held("return", node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        (target,) = node.targets
        if not isinstance(target, ast.Tuple):
            node.value = self._assigned(target, node.value)
        elif isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=True)
            node.value.elts = [self._assigned(left, value) for left, value in pairs]
        else:
            names = [left.id for left in target.elts if isinstance(left, ast.Name)]
            held = [(name, self._held(name, ast.Name(name, ast.Load()))) for name in names]
            again: list[ast.stmt] = [
                ast.Assign([ast.Name(name, ast.Store())], value)
                for name, value in held
                if not isinstance(value, ast.Name)
            ]
            return [node, *again]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name):
            self.generic_visit(node)
            return node
        called = _role(node.func.id, self._op)
        self._outer.append(called)
        self.generic_visit(node)
        self._outer.pop()
        value = self._held(called, node)
        return self._held(f"{self._outer[-1]}.{called}", value) if self._outer else value


def _passed(check: Check, caller: str, op: str, scalar: bool) -> Callable[[Any], Any]:
    """Return a function that returns its argument, checked, if the function around the call is called by `caller`."""
    each = check if scalar else functools.partial(_each, check)

    def passed(value: Any) -> Any:
        each(value)
        return value

    def passed_from(value: Any) -> Any:
        if _role(sys._getframe(2).f_code.co_name, op) == caller:
            each(value)
        return value

    return passed_from if caller else passed
