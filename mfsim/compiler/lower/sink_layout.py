"""Layout ops between quantizers: they move stored codes, and a quantizer goes in front of one that would lose the axis of a scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Coded, Lowering, Waiting, is_quant
from mfsim.compiler.lower.requantizing import requantized
from mfsim.errors import FormatError, LostScaleError

# Ops that move or choose stored codes between quantizers: they work on codes counted from the zero point.

CODE_MOVERS = frozenset(
    ("Concat", "Flatten", "Identity", "MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
)
"""Standard ops that commute with subtracting a zero point."""


def moves_codes(lowering: Lowering, node: FileNode) -> bool:
    """Whether `node` only moves stored codes, all with one zero point and on one scale.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file.

    Returns
    -------
    bool
        True if it does.
    """
    if node.domain or node.op not in CODE_MOVERS:
        return False
    codes = _codes(lowering, node)
    return len({(code.zero_point, lowering.builder.tensors[code.name].scale) for code in codes.values()}) == 1


def move_codes(lowering: Lowering, node: FileNode, rule: Callable[[Lowering, FileNode], None]) -> None:
    """Lower `node` on the codes counted from their zero point.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of which `moves_codes` holds.
    rule : callable of (Lowering, FileNode)
        Rule of its op.
    """
    codes, (output,) = _codes(lowering, node), node.outputs
    kept = {name: lowering.values[name] for name in codes}
    inner = lowering.inner_name(node, "codes")
    lowering.values.update({name: code.name for name, code in codes.items()})
    rule(lowering, replace(node, outputs=(inner,)))
    moved = lowering.values.pop(inner)
    assert isinstance(moved, str)
    lowering.values.update(kept)
    lowering.values[output] = Coded(moved, next(iter(codes.values())).zero_point)


def _codes(lowering: Lowering, node: FileNode) -> dict[str, Coded]:
    return {name: value for name in node.inputs if isinstance(value := lowering.values.get(name), Coded)}


# Layout in front of a quantizer where it would lose the axis along which a scale varies: the quantizer goes first.
#
# Behind a product with a weight scale for each output, or a gain for each channel, codes lie on a scale for
# each channel until the next Quant. A Reshape to heads, say, leaves no single axis for that scale. As a
# Quant of one scale works on each value alone, it may as well stand in front of the Reshape, and there it
# is put: the value waits, with the ops that only move it, until a Quant reads it.

SINKABLE = frozenset(("Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"))
"""Standard ops that only move the values of their first input."""

Rule = Callable[[Lowering, FileNode], None]


def lower_moving(lowering: Lowering, node: FileNode, rule: Rule, rule_of: Callable[[FileNode], Rule]) -> None:
    """Lower a node by its `rule`, or let it wait; `rule_of` gives the rules of the nodes that have waited for it.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file.
    rule : callable of (Lowering, FileNode)
        Rule of its op.
    rule_of : callable of FileNode
        Gives the rule of a node.

    Raises
    ------
    LostScaleError
        If the rule raises it and the node cannot wait.
    """
    value = lowering.values.get(node.inputs[0]) if node.inputs else None
    moves = node.domain == "" and node.op in SINKABLE
    if isinstance(value, Waiting) and moves:
        lowering.values[node.outputs[0]] = Waiting(value.name, (*value.nodes, node))
    elif isinstance(value, Waiting) and is_quant(node):
        _release(lowering, node, value, rule_of)
    else:
        try:
            rule(lowering, node)
        except LostScaleError:
            if not moves:
                raise
            lowering.values[node.outputs[0]] = Waiting(lowering.tensor(node, 0).name, (node,))


def _release(lowering: Lowering, node: FileNode, value: Waiting, rule_of: Callable[[FileNode], Rule]) -> None:
    """Emit the quantizer `node`, and behind it the ops that have waited."""
    quantizer = lowering.quantizer(node)
    if quantizer.exponents.size != 1:
        raise FormatError(f"the scale must be one number, because `{value.nodes[0].name}` in front moves channels")
    name = requantized(lowering, node, lowering.builder.tensors[value.name], quantizer, None)
    for k, moved in enumerate(value.nodes):
        output = node.outputs[0] if k == len(value.nodes) - 1 else lowering.inner_name(node, moved.op.lower())
        lowering.values[name] = name
        rule_of(moved)(lowering, replace(moved, inputs=(name, *moved.inputs[1:]), outputs=(output,)))
        name = str(lowering.values[output])
