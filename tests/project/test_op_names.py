"""No file outside `mfsim/ops` names an op: engines ask for traits, or import the definition of an op and use its name.

A string constant is refused if it equals the name of an op of the integer program, or what an op of `org.mfsim` is called
in model.onnx. Some names are ordinary words, too. Where a file uses one of them in another meaning, `OTHER_MEANINGS` says
which, and in no other file is it allowed. Whatever it means elsewhere, such a word is never compared with the `op` or the
`op_type` of a node, and never the op of a node that is made.
"""

from __future__ import annotations

import ast
import fnmatch
import pathlib
from collections.abc import Iterator

import pytest

from mfsim import ops

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = frozenset(ops.REGISTRY) | frozenset(ops.signatures())
MAKING = ("node", "emit", "inner", "_last", "make_node", "emitted", "count_op", "_rows", "_linear", "_conv2d", "get")
"""Functions and methods that take an op: `ProgramBuilder.node`, `Lowering.emit`, `ops.get`, ..."""

OTHER_MEANINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "primitives of kernels and counts": (
        ("abs", "mul", "neg", "shift", "sign"),
        (
            *("mfsim/analysis/count.py", "mfsim/analysis/energy.py", "mfsim/cim/mapping.py", "mfsim/cim/parts.py"),
            *("mfsim/kernels/primitives.py", "mfsim/op_counter/*.py"),
            *(
                "mfsim/report/contents.py",
                "mfsim/report/pictures.py",
                "mfsim/report/result.py",
                "mfsim/report/curves.py",
            ),
        ),
    ),
    "groups of primitives in charts": (("add",), ("mfsim/report/pictures.py", "mfsim/report/curves.py")),
    "instructions of LLVM": (("add", "mul", "sub"), ("mfsim/kernels/simd/wrapping.py",)),
    "functions of torch": (
        (
            *("abs", "add", "embedding", "flatten", "mul", "neg", "relu"),
            *("reshape", "sign", "slice", "sub", "transpose"),
        ),
        ("mfsim/op_counter/aten.py", "mfsim/quant/input_quantizer.py"),
    ),
    "the form `abs` of MF products": (
        ("abs",),
        ("mfsim/cim/mapping.py", "mfsim/kernels/gemm/*.py", "mfsim/nn/attention/config.py", "rtl_models/mf_term/*.py"),
    ),
    "the attribute `shift` of a requantize": (
        ("shift",),
        (
            *("mfsim/compiler/lower/requantizing.py", "mfsim/ir/fixed_point.py"),
            *("mfsim/kernels/rows/epilogue.py", "mfsim/simulate/dispatch.py"),
        ),
    ),
    "forms of layers: gains, norms and divisors that are powers of two, products by shifts": (
        ("shift",),
        (
            *("mfsim/nn/attention/p*.py", "mfsim/nn/gains.py", "mfsim/nn/softmax.py", "mfsim/nn/wht.py"),
            *("mfsim/op_counter/functions.py", "mfsim/op_counter/layers.py"),
            *("mfsim/quant/fold.py", "mfsim/quant/module_mapping.py"),
        ),
    ),
    "forms of a Fourier transform: products by multiplications": (
        ("mul",),
        ("mfsim/op_counter/functions.py",),
    ),
    "rules of a conversion": (("shift", "wht"), ("mfsim/conversion/*.py",)),
    "options of models": (
        ("dct", "filterbank", "pad", "relu", "softmax", "tanh_l1", "wht"),
        ("mfsim/nn/attention/*.py", "mfsim/nn/models/layers.py", "mfsim/nn/wht.py"),
    ),
    "names of layers in a model": (
        ("flatten", "relu"),
        ("mfsim/nn/models/htma_resnet.py", "mfsim/nn/models/mf_mlp.py"),
    ),
    "names of buffers and arguments of a layer": (
        ("gain",),
        ("mfsim/nn/gains.py", "mfsim/nn/shift_batch_norm.py", "mfsim/nn/softmax.py", "mfsim/quant/*.py"),
    ),
    "the gain of an affine function": (("gain",), ("mfsim/compiler/frontend/third_party.py",)),
    "accumulator words of a recipe and of a quantized layer": (
        ("accumulator",),
        ("mfsim/quant/*.py", "export/words.py"),
    ),
    "an array that stores the transform": (("wht",), ("mfsim/cim/array.py", "mfsim/cim/mapping.py")),
    "a block of RTL": (("wht",), ("rtl_models/wht/parameters.py",)),
    "the kind and the listing of lookup tables": (("table",), ("mfsim/analysis/*.py",)),
    "a table of a technology": (("table",), ("mfsim/analysis/energy.py",)),
    "an element of HTML": (("table",), ("mfsim/report/tables.py",)),
    "the heading of a column": (("Table", "sign"), ("mfsim/report/contents.py", "mfsim/cli/rtl.py")),
    "functions of torch that are exported": (
        (
            *("accumulator", "mf_conv2d", "mf_matmul", "mf_mul", "shift"),
            *("soft_threshold", "sum_pool2d", "table", "wht"),
        ),
        ("mfsim/nn/functional.py",),
    ),
    "classes of layers that are exported": (
        (
            *("CsdGain", "DCT", "DFTMagnitude", "Filterbank", "Gram", "LayerNorm", "MFMatMul", "MFMul", "RMSNorm"),
            *("Shift", "SoftThreshold", "Softmax", "TanhL1", "WHT"),
        ),
        ("mfsim/nn/__init__.py",),
    ),
    "the standard op Softmax, which has no rule": (("Softmax",), ("mfsim/compiler/lower/steps.py",)),
}
"""Meaning: the words, and the files, in which they have it."""

SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("mfsim", "export", "rtl_models")
    for path in (ROOT / folder).rglob("*.py")
    if not path.is_relative_to(ROOT / "mfsim" / "ops")
)


def words(tree: ast.AST) -> set[str]:
    """Return the string constants in a tree that are the name of an op."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value) in NAMES}


def used_as_ops(tree: ast.AST) -> Iterator[str]:
    """Yield the names of ops that are compared with the op of a node, tested for its beginning or end, or made a node of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(is_op(side) for side in (node.left, *node.comparators)):
            yield from words(node)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("startswith", "endswith") and isinstance(node.func, ast.Attribute) and is_op(node.func.value):
                yield ast.unparse(node)
            elif name in MAKING and not is_of_a_mapping(node):
                yield from (
                    word for argument in node.args[:3] if isinstance(argument, ast.Constant) for word in words(argument)
                )


def is_op(node: ast.AST) -> bool:
    """Whether an expression is the op of a node."""
    return isinstance(node, ast.Attribute) and node.attr in ("op", "op_type")


def is_of_a_mapping(call: ast.Call) -> bool:
    """Whether a call of `get` is that of a mapping, not of `mfsim.ops`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "get" and ast.unparse(call.func.value) != "ops"


def allowed(path: str) -> set[str]:
    """Return the names of ops that may stand in a file, in other meanings."""
    return {
        word
        for names, files in OTHER_MEANINGS.values()
        for word in names
        if any(fnmatch.fnmatch(path, file) for file in files)
    }


@pytest.mark.parametrize("path", SOURCES)
def test_no_op_is_named_outside_the_ops(path):
    tree = ast.parse((ROOT / path).read_text())
    assert words(tree) - allowed(path) == set()
    assert list(used_as_ops(tree)) == []


@pytest.mark.parametrize("meaning", OTHER_MEANINGS)
def test_every_other_meaning_is_in_use(meaning):
    names, files = OTHER_MEANINGS[meaning]
    for file in files:
        found = [words(ast.parse((ROOT / path).read_text())) for path in SOURCES if fnmatch.fnmatch(path, file)]
        assert set().union(*found) & set(names), file
    for name in names:
        assert any(
            name in words(ast.parse((ROOT / path).read_text()))
            for path in SOURCES
            if any(fnmatch.fnmatch(path, file) for file in files)
        ), name


@pytest.mark.parametrize(
    "line",
    [
        'if node.op == "shift": pass',
        'if node.op in ("abs", "other"): pass',
        'if node.op_type not in {"Softmax"}: pass',
        'node.op.endswith("conv2d")',
        "node.op_type.startswith(PREFIX)",
        'lowering.emit(node, "add", inputs)',
        'builder.node("neg", inputs)',
        'ops.get("sign")',
    ],
)
def test_a_word_is_seen_where_it_is_an_op(line):
    assert list(used_as_ops(ast.parse(line)))


@pytest.mark.parametrize("line", ['row("mul", bits)', 'facts.get("gain")', 'kind == "shift"', "node.op == SHIFT.name"])
def test_a_word_in_another_meaning_is_no_op(line):
    assert not list(used_as_ops(ast.parse(line)))
