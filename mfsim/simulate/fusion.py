"""Products and sums that fit their results into the word of the requantize behind them.

Between the two there may be a ReLU, behind a convolution windows that are joined, and what moves codes: rounding does
not mind in which order codes lie, so that narrow codes are moved instead of sums. None of the tensors between may be
seen or read by another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfsim import ops
from mfsim.ir.program import Node, Program
from mfsim.ir.stages import Stage
from mfsim.ops.traits import Trait
from mfsim.simulate.dispatch import Ending, Run, fast_kernel_of

POOLS = {Trait.MAX_POOL, Trait.SUM_POOL}


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


def chains(program: Program, stages: Sequence[Stage]) -> dict[str, Chain]:
    """Return by node the chain that its fast kernel does, of the `stages` of the nodes that are run.

    Parameters
    ----------
    program : Program
        Integer program.
    stages : sequence of Stage
        Stages of the nodes that are run.

    Returns
    -------
    dict of str to Chain
        Chain by the name of its first node; nodes without one are left out.
    """
    found: dict[str, Chain] = {}
    for stage in stages:
        left = stage.nodes
        while left:
            node, *behind = left
            chain = _chain(program, node, behind) if node.op in ops.named(Trait.FUSES_EPILOGUE) else None
            if chain is not None:
                found[node.name] = chain
                behind = behind[len(chain.nodes) :]
            left = tuple(behind)
    return found


def _chain(program: Program, product: Node, behind: Sequence[Node]) -> Chain | None:
    """Return how far a fast kernel does what stands behind `product`, or None if it does not reach an epilogue."""
    sums = product.outputs[0]
    pool: Node | None = None
    before, rectified = False, False
    movers: list[Node] = []
    for number, reader in enumerate(behind, 1):
        traits = ops.get(reader.op).traits
        if Trait.RECTIFIES in traits:
            rectified = True
        elif Trait.PERMUTES in traits:
            movers.append(reader)
        elif traits & POOLS and _joins(program, product, reader) and not (pool or movers):
            pool, sums = reader, reader.outputs[0]
            before, rectified = rectified, False
        elif Trait.EPILOGUE in traits:
            axis: Any = reader.attributes.get("axis", -1)
            if axis >= 0 and not _on_channels(program, product, sums, movers, reader, axis):
                return None
            run = fast_kernel_of(program, product, Ending(reader, rectified, pool, before))
            return None if run is None else Chain(run, sums, reader, tuple(movers), tuple(behind[:number]))
        else:
            return None
    return None


def _joins(program: Program, product: Node, pool: Node) -> bool:
    """Whether a product can join the windows of `pool`: those of its own planes that do not overlap, and no padding."""
    attributes: Mapping[str, Any] = pool.attributes
    return (
        product.op in ops.named(Trait.CONVOLUTION)
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
    return seen == _axis(sums, 1 if product.op in ops.named(Trait.CONVOLUTION) else len(sums) - 1)


def _axis(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """Return the size of an axis, and how many codes lie behind one of its entries."""
    return shape[axis], math.prod(shape[axis + 1 :])
