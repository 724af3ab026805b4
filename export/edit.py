"""`open_model`: an exported model.onnx whose words and scales can be changed.

The file keeps float weights and, as metadata, the recipe, what calibration saw, and which nodes belong
to which quantizer. `set_formats` asks the functions by which a network is quantized, so that the edited
model is the one that a quantized network of that recipe would be exported to.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from mfsim.compiler import compile_model
from mfsim.compiler.frontend.reader import read_model
from mfsim.errors import ModelError, RecipeError
from mfsim.export.exactness import check_program
from mfsim.export.graph_variants import GraphVariant, variant_of
from mfsim.export.words import (
    BIAS,
    CALIBRATION,
    ENTRANCE,
    QUANTIZERS,
    WEIGHT,
    blank,
    float_weights,
    set_calibration,
    take_out,
)
from mfsim.ir.program import Program
from mfsim.keywords import check_constructor, check_keywords
from mfsim.ops.model_bodies import set_bodies
from mfsim.quant.calibration import Calibration
from mfsim.quant.choose_qparams import choose_qparams, sweep_keys
from mfsim.quant.constants import check_plan
from mfsim.quant.qparams import QParamsByPath, Weights
from mfsim.quant.recipe import LayerRecipe, Recipe
from mfsim.serialize.files import write_model

FORMS = 8
"""How many choices of accumulators and entrances are kept, the latest ones."""

TABLES = 4
"""For how many words of each nonlinear layer tables and other derived constants are kept, the latest ones."""


@check_keywords
def open_model(source: str | os.PathLike[str] | onnx.ModelProto) -> EditableModel:
    """Return an exported model.onnx, opened for changes of words and scales.

    Parameters
    ----------
    source : str, os.PathLike or onnx.ModelProto
        A file of `export_quantized`, or its model, which is not changed.

    Returns
    -------
    EditableModel

    Raises
    ------
    ModelError
        If the file is missing or damaged, or holds no calibration: a third-party file, or an old one.
    """
    model = read_model(source)
    properties = {entry.key: entry.value for entry in model.metadata_props}
    if CALIBRATION not in properties or QUANTIZERS not in properties:
        shown = "the model" if isinstance(source, onnx.ModelProto) else f"`{source}`"
        raise ModelError(f"{shown} holds no calibration, so its formats cannot be set; quantize and export it again")
    return EditableModel(model, Calibration.from_text(properties[CALIBRATION]), json.loads(properties[QUANTIZERS]))


@check_constructor
class EditableModel:
    """A quantized model whose formats can be set; made by `open_model`.

    Attributes
    ----------
    digest : sha256 over all but words and scales: float weights, graph, statistics.
    layers : the paths that a recipe may name.
    """

    def __init__(
        self, model: onnx.ModelProto, calibration: Calibration, quantizers: Mapping[str, Sequence[str]]
    ) -> None:
        self._model, self._calibration = model, calibration
        self._program: Program | None = None
        self._bare = onnx.ModelProto()
        self._bare.CopyFrom(model)
        entrances = [name for path, names in quantizers.items() if path.startswith(ENTRANCE) for name in names]
        take_out(self._bare.graph, entrances)
        set_bodies(self._bare)
        self._inner = {path: names for path, names in quantizers.items() if not path.startswith(ENTRANCE)}
        self._weights = Weights(float_weights(self._bare.graph, self._inner, WEIGHT))
        self._biases = float_weights(self._bare.graph, self._inner, BIAS)
        self._thresholds = float_weights(self._bare.graph, self._inner, "threshold_quant")
        self.layers = tuple(subject.path for subject in calibration.subjects)
        self.digest = self._digest()
        # What was found for words that may be asked for again.
        self._forms: dict[object, GraphVariant] = {}
        self._form: GraphVariant | None = None
        self._decided: dict[tuple[str, LayerRecipe], QParamsByPath] = {}
        self._fitting: set[tuple[object, ...]] = set()
        self._constants: dict[tuple[object, ...], dict[str, np.ndarray]] = {}

    @property
    def recipe(self) -> Recipe:
        """The recipe by which words and scales are as they are."""
        return self._calibration.recipe

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """For each layer, the keys of a recipe that decide something in it."""
        return {subject.path: sweep_keys(subject) for subject in self._calibration.subjects}

    def set_formats(self, recipe: Recipe) -> None:
        """Give every word and scale, and what follows from them, the values by `recipe`.

        Parameters
        ----------
        recipe : Recipe

        Raises
        ------
        RecipeError
            If a pattern matches no layer, a bias or threshold does not fit its word, or the recipe asks
            for other quantizers than the file has; nothing has changed then.
        """
        recipe.check(self.layers)
        for subject in self._calibration.subjects:
            if subject.kind == "Requantized" and subject.path not in recipe.layers:
                raise RecipeError(f"the recipe must name layer `{subject.path}`: the file has a quantizer behind it")
        plan = choose_qparams(self._calibration, recipe, self._weights, self._decided)
        check_plan(self._calibration, recipe, plan, self._weights.arrays, self._biases, self._thresholds, self._fitting)
        derived = self._derived(recipe, plan)
        calibration = self._calibration.with_recipe(recipe)
        form = self._forms.pop(variant_of(plan), None) or GraphVariant(self._bare, plan, self._inner, calibration)
        form.set(plan, derived, calibration)
        self._forms[variant_of(plan)] = form
        while len(self._forms) > FORMS:
            del self._forms[next(iter(self._forms))]
        self._form, self._model, self._calibration, self._program = form, form.model, calibration, None

    def _derived(self, recipe: Recipe, plan: QParamsByPath) -> dict[str, dict[str, np.ndarray]]:
        """Return the derived constants of the nonlinear layers by path of the layer."""
        subjects = [subject for subject in self._calibration.subjects if "readers" in subject.facts]
        if not subjects:
            return {}
        from mfsim.quant.choose_qparams import derived_constants  # needs torch, as no other change of formats does

        scales = {tensor.name: tensor for tensor in self._bare.graph.initializer}
        made = {}
        for subject in subjects:
            words, grids = recipe.layer(subject.path), (plan[subject.at(name)] for name in ("input_quant", "y_scale"))
            key = (subject.path, words, *(word.exponent for word in grids))
            constants = self._constants.pop(key, None)
            if constants is None:
                found = {
                    "weight": self._weights.arrays.get(subject.path),
                    "bias": self._biases.get(subject.path),
                    "weight.scale": scales.get(subject.at("weight_quant.scale")),
                }
                parameters = {
                    name: numpy_helper.to_array(values) if isinstance(values, onnx.TensorProto) else values
                    for name, values in found.items()
                    if values is not None
                }
                constants = derived_constants(subject, words, plan, parameters)
            made[subject.path] = self._constants[key] = constants
        while len(self._constants) > TABLES * len(subjects):
            del self._constants[next(iter(self._constants))]
        return made

    def program(self) -> Program:
        """Return the integer program, compiled from the opened graph."""
        if self._program is None:
            self._program = compile_model(self._model) if self._form is None else self._form.program()
        return self._program

    def model(self) -> onnx.ModelProto:
        """Return the model as it is now; a copy."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        return model

    def save(self, path: str | os.PathLike[str], *, allow_inexact: bool = False) -> pathlib.Path:
        """Write the model to a file, whole or not at all.

        Parameters
        ----------
        path : str or os.PathLike
        allow_inexact : bool
            Write the file even where a sum may pass 2**24, up to which float32 is exact.

        Returns
        -------
        pathlib.Path
            `path`.

        Raises
        ------
        ExportError
            If a sum may be inexact in float32, or the file cannot be written.
        MfsimError
            If the file has no integer program.
        """
        if not allow_inexact:
            check_program(self.program())
        return write_model(self._model, path)

    def _digest(self) -> str:
        model = onnx.ModelProto()
        model.CopyFrom(self._bare)
        blank(model.graph, self._inner)
        set_calibration(model, self._calibration.with_recipe(Recipe()), self._inner)
        return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
