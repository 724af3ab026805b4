"""`stages`: a program as computing nodes, each with what only treats its results code by code or window by window.

What runs a program or maps it onto hardware needs to know where one unit ends and the next begins: a product's sums are
requantized before they are written to memory, in a kernel as in the periphery of an array. So executor and in-memory
mapping read the same stages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mfsim import ops
from mfsim.ir.program import Node, Program
from mfsim.ops.traits import FOLLOWERS


@dataclass(frozen=True)
class Stage:
    """A node and the nodes behind it, each the only reader of the one in front.

    Attributes
    ----------
    node : what computes: a product, a transform, an addition, ... At an input of the program, behind a fork and behind
        an output of the program it may also be a node that could stand behind another.
    behind : what relabels, reorders, rectifies, clips, requantizes or pools, in order (`mfsim.ops.traits.FOLLOWERS`).
    inputs : names of the tensors that `node` reads, constants included, each once.
    outputs : names of the tensors that the last node writes.
    readers : names of the nodes of other stages that read `outputs`, each once: more than one where the value forks.
    """

    node: Node
    behind: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    readers: tuple[str, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in order."""
        return (self.node, *self.behind)

    @property
    def computes(self) -> bool:
        """Whether it begins with a computing node, not with one that could stand behind another."""
        return not follows(self.node)


def follows(node: Node) -> bool:
    """Whether `node` can stand behind another in a stage: one input, and a trait of `FOLLOWERS`.

    Parameters
    ----------
    node : Node
        Node of a program.

    Returns
    -------
    bool
        True if it can.
    """
    return len(node.inputs) == 1 and any(node.op in ops.named(trait) for trait in FOLLOWERS)


def stages(
    program: Program,
    nodes: Sequence[Node] | None = None,
    same: Mapping[str, str] | None = None,
    kept: Collection[str] = (),
) -> tuple[Stage, ...]:
    """Return the stages of `program`; each node is in exactly one.

    A stage ends where a value has several readers or none, where it is an output of the program, and in front of a node
    that computes.

    Parameters
    ----------
    program : Program
    nodes : those to group, in the order of the program; by default all.
    same : by tensor the one whose buffer it is a view of, for `nodes` without the views; by default each is its own.
    kept : names of further tensors that somebody sees, and at which a stage ends as at an output.

    Returns
    -------
    tuple of Stage
        In the order of their first nodes.
    """
    aliases = same or {}
    chosen = program.nodes if nodes is None else nodes

    def source(name: str) -> str:
        while name in aliases:
            name = aliases[name]
        return name

    readers: defaultdict[str, list[Node]] = defaultdict(list)
    for node in chosen:
        for name in node.inputs:
            readers[source(name)].append(node)
    ends = {source(name) for name in (*program.outputs, *kept)}
    done: set[str] = set()
    found = []
    for node in chosen:
        if node.name in done:
            continue
        chain = [node]
        while (follower := _follower(chain[-1], readers, ends)) is not None:
            chain.append(follower)
        done.update(each.name for each in chain)
        after = (reader.name for name in chain[-1].outputs for reader in readers[name])
        inputs, outputs = tuple(dict.fromkeys(node.inputs)), tuple(chain[-1].outputs)
        found.append(Stage(node, tuple(chain[1:]), inputs, outputs, tuple(dict.fromkeys(after))))
    return tuple(found)


def _follower(last: Node, readers: Mapping[str, Sequence[Node]], ends: Collection[str]) -> Node | None:
    """Return the node that belongs behind `last`, or None."""
    if len(last.outputs) != 1 or last.outputs[0] in ends:
        return None
    behind = readers.get(last.outputs[0], ())
    return behind[0] if len(behind) == 1 and follows(behind[0]) else None
