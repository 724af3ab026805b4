"""Mutants of a source file: every place, and what is written there instead."""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
from collections.abc import Iterator

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change of one file; `identity` stays when lines move."""

    identity: str
    package: str
    path: str
    line: int
    column: int
    operator: str
    old: str
    new: str
    text: str


def mutants_of(source: str, path: str, package: str) -> list[Mutant]:
    """Return all mutants of a file in the order of its text."""
    seen: collections.Counter[str] = collections.Counter()
    lines = source.encode().split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for scope, node, operator, changed in _changes(ast.parse(source), "module"):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old, new = _one_line(ast.unparse(node)), _one_line(ast.unparse(changed))
        written = ast.unparse(changed)
        if isinstance(changed, ast.expr):
            written = f"({written})"
        text = (source.encode()[:start] + written.encode() + source.encode()[end:]).decode()
        name = f"{path} {scope}: {_short(old)} -> {_short(new)} [{operator}]"
        seen[name] += 1
        identity = name if seen[name] == 1 else f"{name} #{seen[name]}"
        found.append(Mutant(identity, package, path, node.lineno, node.col_offset, operator, old, new, text))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    return text if len(text) <= 70 else text[:67] + "..."


def _changes(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST, str, ast.AST]]:
    """Yield scope, node, operator and the changed node for a tree."""
    for operator, changed in _of_node(node):
        yield scope, node, operator, changed
    for child in _children(node):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if child.name.endswith("cases"):
                continue
            inner = child.name if scope == "module" else f"{scope}.{child.name}"
        yield from _changes(child, inner)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts that compute: no annotation, decorator, error text, f-string, `__all__`, `strict=` or import."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "msg"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part


def _of_node(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield operator and changed node for the changes of one node itself."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            if type(op) in SWAPPED:
                changed = copy.deepcopy(node)
                changed.ops[k] = SWAPPED[type(op)]()  # type: ignore[assignment]
                yield "compare", changed
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED and not _text(node):
        changed = copy.deepcopy(node)
        changed.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
        yield "bool" if isinstance(node, ast.BoolOp) else "arithmetic", changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "not" if isinstance(node.op, ast.Not) else "sign", copy.deepcopy(node.operand)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        changed = copy.deepcopy(node)
        changed.func = ast.Name(CALLS[node.func.id])
        yield "call", changed
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "bool", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "constant", ast.Constant(node.value + 1)
        yield "constant", ast.Constant(node.value - 1)
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield "return", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Raise | ast.Continue | ast.Break):
        yield type(node).__name__.lower(), ast.Pass()


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(node: ast.AST) -> bool:
    """Say whether an operand of `+` or `%` is a text."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.iter_child_nodes(node)
        if not isinstance(node, ast.BoolOp)
    )
