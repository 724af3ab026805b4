"""`Form`: the model of an opened file with one choice of accumulators and entrances, in which words change.

Where words of another form are asked for, its nodes are made from the bare graph. Within a form a change of
words changes initializers, and the program is compiled again only where these reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

from mfsim.compiler.incremental.recompile import Recompiler
from mfsim.export.naming import end_name
from mfsim.export.words import (
    ACCUMULATOR,
    CALIBRATION,
    ENTRANCE,
    SATURATION,
    WEIGHT,
    derived_inputs,
    is_convolution,
    number,
    output_axis,
    products_of,
    put_in,
    scale,
    set_calibration,
)
from mfsim.ir.program import Program
from mfsim.ops.model_bodies import set_bodies
from mfsim.quant.calibration import Calibration
from mfsim.quant.qparams import QParams, QParamsByPath

Derived = Mapping[str, Mapping[str, np.ndarray]]
"""Derived constants of nonlinear layers, by the path of the layer and name."""


@dataclass(frozen=True)
class Slot:
    """The initializers of one quantizer or accumulator; a scale for each output has the shape `view`."""

    scale: str
    bit_width: str
    view: tuple[int, ...] = ()

    def tensors(self, word: QParams) -> Iterator[onnx.TensorProto]:
        """Yield the initializers for `word`.

        Parameters
        ----------
        word : QParams

        Yields
        ------
        onnx.TensorProto
            float32: the scales, then the bit width.
        """
        exponents = word.exponents.reshape(self.view) if word.exponents.ndim and self.view else word.exponents
        yield scale(self.scale, exponents)
        yield number(self.bit_width, word.bits)


def variant_of(plan: QParamsByPath) -> tuple[tuple[str, object], ...]:
    """Return what of `plan` decides which nodes a graph has, and their attributes.

    Parameters
    ----------
    plan : dict of str to QParams

    Returns
    -------
    tuple of (str, object)
        Equal for plans whose graphs differ in initializers alone.
    """
    accumulators = ((path, word.overflow) for path, word in plan.items() if path.rpartition(".")[2] == ACCUMULATOR)
    entrances = ((path, word.signed) for path, word in plan.items() if path.startswith(ENTRANCE))
    return (*accumulators, *entrances)


class GraphVariant:
    """The model with the nodes of `plan`.

    Parameters
    ----------
    bare : the model without accumulators and entrances; it is copied.
    plan : any one of this form.
    quantizers : names of Quant nodes by the path of their quantizer.
    calibration : anyone's of this network.
    """

    def __init__(
        self,
        bare: onnx.ModelProto,
        plan: QParamsByPath,
        quantizers: Mapping[str, Sequence[str]],
        calibration: Calibration,
    ) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(bare)
        graph = self.model.graph
        put_in(graph, plan, quantizers)
        set_bodies(self.model)
        entrances = {path: [end_name(path, len(graph.input))] for path in plan if path.startswith(ENTRANCE)}
        set_calibration(self.model, calibration, {**quantizers, **entrances})
        self._slots = dict(_slots(graph, plan, quantizers, len(graph.input)))
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self._inputs = [(node.input[k], layer, name) for node, k, layer, name in derived_inputs(graph)]
        self._plan: QParamsByPath = {}
        self._derived: Derived = {}
        self._changed: set[str] = set()
        self._recompiler: Recompiler | None = None

    def set(self, plan: QParamsByPath, derived: Derived, calibration: Calibration) -> None:
        """Give every quantizer its word of `plan`, and nonlinear layers their `derived` constants.

        Parameters
        ----------
        plan : dict of str to QParams
            Of this form.
        derived : mapping of str to mapping of str to array
            Constants by path of the layer and name.
        calibration : Calibration
            With the recipe of `plan`; written into the metadata.
        """
        for path, word in plan.items():
            if not _equal(word, self._plan.get(path)):
                for slot in self._slots[path]:
                    for tensor in slot.tensors(word):
                        self._put(tensor)
        for tensor_name, layer, name in self._inputs:
            if derived[layer] is not self._derived.get(layer):
                self._put(numpy_helper.from_array(derived[layer][name], tensor_name))
        (entry,) = (entry for entry in self.model.metadata_props if entry.key == CALIBRATION)
        entry.value = calibration.to_text()
        self._plan, self._derived = plan, derived

    def _put(self, tensor: onnx.TensorProto) -> None:
        self._tensors[tensor.name].CopyFrom(tensor)
        self._changed.add(tensor.name)

    def program(self) -> Program:
        """Return the integer program of the model as it is."""
        recompiler, self._recompiler = self._recompiler, None  # after an error a new one starts
        if recompiler is None:
            recompiler = Recompiler(self.model)
        else:
            recompiler.change(self._changed)
        self._changed = set()
        program = recompiler.program()
        self._recompiler = recompiler
        return program


def _equal(word: QParams, other: QParams | None) -> bool:
    if word is other or other is None:
        return word is other
    return word.bits == other.bits and np.array_equal(word.exponents, other.exponents)


def _slots(
    graph: onnx.GraphProto, plan: QParamsByPath, quantizers: Mapping[str, Sequence[str]], inputs: int
) -> Iterator[tuple[str, list[Slot]]]:
    """Yield the places of each word of `plan`."""
    nodes = {node.name: node for node in graph.node}
    ranks = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    for path in plan:
        layer, _, role = path.rpartition(".")
        if path.startswith(ENTRANCE):
            name = end_name(path, inputs)
            yield path, [Slot(f"{name}.scale", f"{name}.bit_width")]
        elif role == ACCUMULATOR:
            conv = is_convolution(products_of(graph, layer, quantizers)[0])
            names = [f"{layer}.{read.stored}".lstrip(".") for read in SATURATION.inputs[1:]]
            yield path, [Slot(names[0], names[1], (-1, 1, 1) if conv else (-1,))]
        else:
            found = []
            for node in (nodes[name] for name in quantizers.get(path, ())):  # not every layer has a bias
                view = [1] * ranks.get(node.input[0], 0)
                if view:
                    view[output_axis(graph, node, len(view)) if role == WEIGHT else 0] = -1
                found.append(Slot(node.input[1], node.input[3], tuple(view)))
            yield path, found
