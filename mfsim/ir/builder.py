"""Make integer programs node by node; every range and word is proved on the way."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSet, Sequence
from dataclasses import replace

import numpy.typing as npt

from mfsim import ops
from mfsim.errors import MfsimError, ModelError, did_you_mean
from mfsim.ir.formats import Format, Scale
from mfsim.ir.program import Node, Program, Tensor
from mfsim.keywords import check_constructor
from mfsim.ops.op import activation, constant


@check_constructor
class ProgramBuilder:
    """Collects tensors and nodes and returns a `Program`.

    Attributes
    ----------
    tensors, inputs, nodes : what the program has so far; `names` are those of its nodes.

    >>> builder = ProgramBuilder()
    >>> x = builder.input("x", (8,), Format(8), Scale.of(-7))
    >>> y = builder.node("relu", [x])
    >>> builder.finish([y]).tensors[y].format
    Format(bits=7, signed=False)
    """

    def __init__(self) -> None:
        self.tensors: MutableMapping[str, Tensor] = {}
        self.inputs: list[str] = []
        self.nodes: list[Node] = []
        self.names: MutableSet[str] = set()

    def _fresh(self, name: str) -> str:
        fresh, number = name, 1
        while fresh in self.tensors or fresh in self.names:
            fresh, number = f"{name}_{number}", number + 1
        return fresh

    def _add(self, tensor: Tensor) -> str:
        if tensor.name in self.tensors:
            raise ModelError(f"two tensors are called `{tensor.name}`")
        self.tensors[tensor.name] = tensor
        return tensor.name

    def input(self, name: str, shape: Sequence[int], format_: Format, scale: Scale | None = None) -> str:
        """Add an input of full range; `shape` has no batch axis. Return its name.

        Parameters
        ----------
        name : str
            Name of the tensor, not yet in use.
        shape : sequence of int
            Shape of one sample, without batch axis.
        format_ : Format
            Word of the codes.
        scale : Scale, optional
            Scale of the codes; 1 where left out.

        Returns
        -------
        str
            Name of the tensor.
        """
        return self.input_tensor(activation(name, shape, format_, scale))

    def input_tensor(self, tensor: Tensor) -> str:
        """Add `tensor` as an input and return its name.

        Parameters
        ----------
        tensor : Tensor
            Activation, axis 0 of size 1 for the batch.

        Returns
        -------
        str
            Name of the tensor.
        """
        self.inputs.append(tensor.name)
        return self._add(tensor)

    def constant(
        self, name: str, codes: npt.ArrayLike, format_: Format | None = None, scale: Scale | None = None
    ) -> str:
        """Add a constant (name made unique) and return its name.

        Parameters
        ----------
        name : str
            Wanted name.
        codes : integer array, any shape
            Codes, kept as int64.
        format_ : Format, optional
            Word that holds every code; the smallest one where left out.
        scale : Scale, optional
            Scale of the codes; 1 where left out.

        Returns
        -------
        str
            Name of the tensor.
        """
        return self._add(constant(self._fresh(name), codes, format_, scale))

    def constant_tensor(self, tensor: Tensor) -> str:
        """Add a constant as it is and return its name.

        Parameters
        ----------
        tensor : Tensor
            Constant, under a name not yet in use.

        Returns
        -------
        str
            Name of the tensor.
        """
        return self._add(tensor)

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        attributes: Mapping[str, object] | None = None,
        *,
        name: str = "",
        layer: str = "",
        outputs: Sequence[str] = (),
    ) -> str:
        """Add a node, prove its ranges, and return the name of its first output.

        Derived attributes are computed where they are not given.

        Parameters
        ----------
        op : str
            Name of a registered op.
        inputs : sequence of str
            Names of tensors of the program, in the op's order.
        attributes : mapping, optional
            Attributes of the op.
        name : str
            Wanted name of the node, made unique; the op's where it is "".
        layer : str
            Layer that the node belongs to.
        outputs : sequence of str
            Names of the outputs; made from the node's where it is empty.

        Returns
        -------
        str
            Name of the first output.

        Raises
        ------
        ModelError
            If an input is not there, or the number of `outputs` is wrong.
        MfsimError
            Of the kind that the op raises, with the node, its op, and the shapes and words of its inputs in
            front.
        """
        name = self._fresh(name or op)
        for missing in (i for i in inputs if i not in self.tensors):
            raise ModelError(
                f"node `{name}` ({op}) reads `{missing}`, which nothing writes{did_you_mean(missing, self.tensors)}"
            )
        tensors = [self.tensors[i] for i in inputs]
        try:
            kind = ops.get(op)
            kind.check_inputs(len(tensors))
            complete = kind.derived(tensors, attributes or {})
            inference = kind.infer(tensors, complete)
        except MfsimError as error:
            shown = ", ".join(f"`{t.name}` {t.shape} {t.format}" for t in tensors)
            raise type(error)(f"node `{name}` ({op}) of {shown}: {error}") from error
        names = list(outputs) or [self._fresh(name if k == 0 else f"{name}_{k}") for k in range(len(inference.outputs))]
        if len(names) != len(inference.outputs):
            raise ModelError(f"node `{name}` ({op}) must have {len(inference.outputs)} outputs, not {len(names)}")
        for tensor, output in zip(inference.outputs, names, strict=True):
            self._add(replace(tensor, name=output))
        self.names.add(name)
        self.nodes.append(Node(name, op, tuple(inputs), tuple(names), complete, inference.words, layer))
        return names[0]

    def finish(self, outputs: Sequence[str], metadata: Mapping[str, str] | None = None) -> Program:
        """Return the program; tensors that nothing reads or writes are left out.

        Parameters
        ----------
        outputs : sequence of str
            Names of the program's outputs.
        metadata : mapping of str to str, optional
            Metadata of the program.

        Returns
        -------
        Program
            The checked program.
        """
        used = set(self.inputs) | set(outputs)
        for node in self.nodes:
            used.update(node.inputs, node.outputs)
        tensors = {name: tensor for name, tensor in self.tensors.items() if name in used}
        return Program(tuple(self.inputs), tuple(outputs), tensors, tuple(self.nodes), metadata or {})
