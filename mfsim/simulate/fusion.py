"""Products and sums that fit their results into the word of the requantize behind them.

Between the two there may be a ReLU, behind a convolution windows that are joined, and what moves codes: rounding does
not mind in which order codes lie, so that narrow codes are moved instead of sums. None of the tensors between may be
seen or read by another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfsim.ir.program import Node, Program
from mfsim.simulate.dispatch import FITTING, Ending, Run, fast_form

MOVERS = frozenset({"transpose"})
POOLS = frozenset({"max_pool2d", "sum_pool2d"})


@dataclass(frozen=True)
class Chain:
    """What follows a product: `fitting`, whose `result` its step fills, through `movers`; `nodes` are all of them.

    The step writes codes in the shape of the tensor `sums`.
    """

    run: Run
    sums: str
    fitting: Node
    movers: tuple[Node, ...]
    nodes: tuple[Node, ...]

    @property
    def result(self) -> str:
        """The tensor that is written in the end."""
        return self.fitting.outputs[0]


def chains(
    program: Program, nodes: Sequence[Node], source: Callable[[str], str], shown: Mapping[str, Sequence[str]]
) -> dict[str, Chain]:
    """Return by product the chain that it does, of `nodes` that read and write the tensors `source` names.

    `shown` names what has to be seen of each tensor.
    """
    readers: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        for name in node.inputs:
            readers[source(name)].append(node)
    found: dict[str, Chain] = {}
    done: set[str] = set()
    for node in nodes:
        chain = _chain(program, node, readers, shown) if node.op in FITTING and node.name not in done else None
        if chain is not None:
            found[node.name] = chain
            done.update(each.name for each in chain.nodes)
    return found


def _chain(
    program: Program, product: Node, readers: Mapping[str, Sequence[Node]], shown: Mapping[str, Sequence[str]]
) -> Chain | None:
    name = sums = product.outputs[0]
    pool: Node | None = None
    before, rectified = False, False
    movers: list[Node] = []
    passed: list[Node] = []
    while not shown.get(name) and len(readers.get(name, ())) == 1:
        (reader,) = readers[name]
        passed.append(reader)
        if reader.op == "relu":
            rectified = True
        elif reader.op in MOVERS:
            movers.append(reader)
        elif reader.op in POOLS and _joins(program, product, reader) and not (pool or movers):
            pool, sums = reader, reader.outputs[0]
            before, rectified = rectified, False
        elif reader.op in ("requantize", "accumulator"):
            axis: Any = reader.attributes.get("axis", -1)
            if axis >= 0 and not _on_channels(program, product, sums, movers, reader, axis):
                return None
            run = fast_form(program, product, Ending(reader, rectified, pool, before))
            return None if run is None else Chain(run, sums, reader, tuple(movers), tuple(passed))
        else:
            return None
        name = reader.outputs[0]
    return None


def _joins(program: Program, product: Node, pool: Node) -> bool:
    """Whether a product can join the windows of `pool`: those of its own planes that do not overlap, and no padding."""
    attributes: Mapping[str, Any] = pool.attributes
    return (
        product.op.endswith("conv2d")
        and program.tensors[pool.inputs[0]].shape == program.tensors[product.outputs[0]].shape
        and math.prod(attributes["kernel"]) > 1
        and attributes["strides"] == attributes["kernel"]
        and not any(attributes["pads"])
        and all(step == 1 for step in attributes.get("dilations", ()))
    )


def _on_channels(program: Program, product: Node, name: str, movers: Sequence[Node], reader: Node, axis: int) -> bool:
    """Whether axis `axis` of what `reader` reads has the channels of the product, whose sums `name` went through `movers`.

    An axis is known by its size and by how many codes lie behind one of its entries, in whatever shape it is seen.
    """
    seen = _axis(program.tensors[reader.inputs[0]].shape, axis)
    for mover in reversed(movers):
        moved, shape = program.tensors[mover.outputs[0]].shape, program.tensors[mover.inputs[0]].shape
        perm: Any = mover.attributes["perm"]
        places = [place for place in range(1, len(moved)) if _axis(moved, place) == seen]
        if not places:
            return False
        seen = _axis(shape, perm[places[0]])
    sums = program.tensors[name].shape
    return seen == _axis(sums, 1 if product.op.endswith("conv2d") else len(sums) - 1)


def _axis(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """Return the size of an axis, and how many codes lie behind one of its entries."""
    return shape[axis], math.prod(shape[axis + 1 :])
