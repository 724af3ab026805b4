"""Programs as text: a listing in the manner of MLIR, one line for each node, and a table for notebooks.

>>> from mfsim import Format, ProgramBuilder, Scale
>>> builder = ProgramBuilder()
>>> x = builder.input("x", (4,), Format(8), Scale.of(-7))
>>> w = builder.constant("fc.weight", [[1, -2], [3, 4], [5, -6], [7, -8]], Format(4), Scale.of(-3))
>>> print(builder.finish([builder.node("matmul", [x, w], layer="fc", outputs=["y"])]))
program 9900c7c6: 1 node, 1 constant
inputs   %x : s8[4] * 2^-7 in -128..127
outputs  %y
<BLANKLINE>
# fc
%y : s13[2] * 2^-10 in -2544..2556 by axis 1 = matmul(%x, @fc.weight: s4[4,2]) {constant = "learned", triangle = "none"} with product: s12, acc: s13 as matmul

`word[shape] * scale in range` describes an edge: the shape is that of one sample, a real value is a code times the scale,
and every code is proved to lie in the range. `with` gives the words of accumulators inside a node, `as` the node's name
where it is not that of its first output, `#` the layer of the nodes below. Codes of constants are never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mfsim.display import WIDEST, counted, cut, html_table

if TYPE_CHECKING:
    from mfsim.ir.program import Node, Program, Tensor

ENTRIES = 8
"""Most entries of an attribute that are shown; of more, the first half of these and how many there are."""

_DIGESTS: WeakKeyDictionary[Program, str] = WeakKeyDictionary()
"""A digest reads every weight, which is too long for a line that a debugger may ask for at each step."""


def listing(program: Program) -> str:
    """Return the listing of `program`, see the module header.

    Parameters
    ----------
    program : Program
        Integer program.

    Returns
    -------
    str
        One line for each input and node.
    """
    return "\n".join(_lines(program))


def program_line(program: Program) -> str:
    """Return one line about `program`: its size, inputs, outputs and the first digits of its digest.

    Parameters
    ----------
    program : Program
        Integer program.

    Returns
    -------
    str
        One line.
    """
    inputs, outputs = (", ".join(_ends(program, names)) for names in (program.inputs, program.outputs))
    return (
        f"Program({counted(len(program.nodes), 'node')}, inputs {inputs}, outputs {outputs}, digest {_digest(program)})"
    )


def node_line(node: Node) -> str:
    """Return one line about `node`: its name, op, inputs and outputs.

    Parameters
    ----------
    node : Node
        Node of a program.

    Returns
    -------
    str
        One line.
    """
    return f"Node({node.name}: {', '.join(node.outputs)} = {node.op}({', '.join(node.inputs)}))"


def tensor_line(tensor: Tensor) -> str:
    """Return one line about `tensor`: its name, word, shape, scale and range, and whether it is constant.

    Parameters
    ----------
    tensor : Tensor
        Tensor of a program.

    Returns
    -------
    str
        One line.
    """
    return f"Tensor({tensor.name} : {_described(tensor)}{', constant' if tensor.is_constant else ''})"


def program_html(program: Program) -> str:
    """Return the listing of `program` as an HTML table, one row for each input and node.

    Parameters
    ----------
    program : Program
        Integer program.

    Returns
    -------
    str
        A `table` element.
    """
    columns = ("layer", "output", "word", "shape", "scale", "range", "op", "inputs", "attributes", "inner words")
    rows: list[tuple[object, ...]] = [
        ("", *_cells(program.tensors[name]), "input", "", "", "") for name in program.inputs
    ]
    for node in program.nodes:
        of_node = node.op, _inputs(program, node), _attributes(node.attributes), _words(node)
        rows += [(node.layer, *_cells(tensor), *of_node) for tensor in program.outputs_of(node)]
    return html_table(program_line(program), columns, rows)


def _lines(program: Program) -> Iterator[str]:
    constants = sum(1 for _ in program.constants())
    yield (
        f"program {_digest(program)}: {counted(len(program.nodes), 'node')}"
        + (f", {counted(constants, 'constant')}" if constants else "")
    )
    for k, name in enumerate(program.inputs):
        yield f"{'' if k else 'inputs':8} %{name} : {_described(program.tensors[name])}"
    yield f"outputs  {', '.join(_reference(program, name) for name in program.outputs)}"
    for k, (key, value) in enumerate(sorted(program.metadata.items())):
        yield f"{'' if k else 'metadata':8} {key} = {cut(value)}"
    layer = None
    for node in program.nodes:
        if node.layer != layer:
            layer = node.layer
            yield ""
            if layer:
                yield f"# {layer}"
        yield _node(program, node)


def _node(program: Program, node: Node) -> str:
    outputs = ", ".join(f"%{tensor.name} : {_described(tensor)}" for tensor in program.outputs_of(node))
    attributes, words = _attributes(node.attributes), _words(node)
    return (
        f"{outputs} = {node.op}({_inputs(program, node)})"
        + (f" {{{attributes}}}" if attributes else "")
        + (f" with {words}" if words else "")
        + (f" as {node.name}" if node.name != node.outputs[0] else "")
    )


def _inputs(program: Program, node: Node) -> str:
    return ", ".join(_reference(program, name) for name in node.inputs)


def _reference(program: Program, name: str) -> str:
    tensor = program.tensors[name]
    return f"@{name}: {_typed(tensor)}" if tensor.is_constant else f"%{name}"


def _typed(tensor: Tensor) -> str:
    """Return word and shape, that of one sample for an activation."""
    shape = tensor.shape if tensor.is_constant else tensor.shape[1:]
    return f"{tensor.format}[{','.join(map(str, shape))}]"


def _range(tensor: Tensor) -> str:
    axis = tensor.range.axis
    return f"{tensor.range.low}..{tensor.range.high}" + ("" if axis is None else f" by axis {axis}")


def _described(tensor: Tensor) -> str:
    return f"{_typed(tensor)} * {tensor.scale} in {_range(tensor)}"


def _cells(tensor: Tensor) -> tuple[str, str, str, str, str]:
    """Return output, word, shape, scale and range."""
    shape = " x ".join(map(str, tensor.shape[1:]))
    return tensor.name, str(tensor.format), shape, str(tensor.scale), _range(tensor)


def _attributes(attributes: Mapping[str, object]) -> str:
    return ", ".join(f"{key} = {_value(value)}" for key, value in attributes.items())


def _value(value: object) -> str:
    if isinstance(value, str):
        return f'"{cut(value)}"'
    if not isinstance(value, tuple):
        return str(value)
    shown = value if len(value) <= ENTRIES else value[: ENTRIES // 2]
    texts = [cut(str(entry), WIDEST // 2) for entry in shown]
    return f"({', '.join([*texts, f'... {len(value)} in all'] if len(shown) < len(value) else texts)})"


def _words(node: Node) -> str:
    return ", ".join(f"{name}: {word}" for name, word in node.words.items())


def _ends(program: Program, names: tuple[str, ...]) -> list[str]:
    return [f"{name} {_typed(program.tensors[name])}" for name in names]


def _digest(program: Program) -> str:
    if program not in _DIGESTS:
        _DIGESTS[program] = program.digest()[:8]
    return _DIGESTS[program]
