"""One point of the study: one unit, one data set, one seed, from fresh weights to simulated integers.

Every unit stands in the same vision transformer. `mf-vit` is the one whose other parts do not multiply
either; `chained-vo` is defined for a stack without residuals, norms and MLPs, and gets one.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim import data as datasets
from mfsim import quant
from mfsim.analysis import CountReport, count, strict_multiplication_free
from mfsim.compiler import compile_model
from mfsim.data import Dataset, Split
from mfsim.errors import CountError, DataError, MfsimError, UnsupportedOpError
from mfsim.export.exporter import quantized_model
from mfsim.nn import models
from mfsim.nn.attention import PRESETS, AttentionConfig
from mfsim.parity.compare import codes_of
from mfsim.quant import Recipe
from mfsim.simulate import quantize_input, simulate
from mfsim.simulate.values import classes
from mfsim.sweep.keys import data_digest
from mfsim.train import accuracy, fit, logits
from mfsim.workflow.summary import tool_versions

MF_VIT = "mf-vit"
UNITS = (*PRESETS, MF_VIT)
SAME = {"qvv2": "qkk", "hadamard-o-pad": "hadamard-o", "hadamard-o-block": "hadamard-o"}
"""Units that are the same network as another one, at a width that is a power of two, fresh weights included."""
CHANGED = {
    "mf-aggregate": replace(PRESETS["mf-aggregate"], sign_zero=1),
    **{name: replace(PRESETS[name], normalise_filters=True) for name in ("qk-sk", "q-sk-sk", "sq-sk-k", "sq-sk-sk")},
}
"""Units that differ from their preset.

MF(A, V) takes the whole of a value by the sign of its weight: softmax weights, all positive in float, that round to 0
must keep that sign. (Under a causal mask, hidden weights must be 0 with sign 0.) The mean of 31 filters passes at most
0.06 of a patch on a grid of 4 x 4, and all of the class token: too little to train, and few codes of 8 bits.
"""
COMPARED = 1000
"""Test images whose codes are compared between the quantized torch network and the simulator."""
CALIBRATION = 512
"""Training images that choose the scales of activations."""
CIFAR10 = ("cifar-10-batches-py", "cifar-10-python.tar.gz")
"""What `cifar10` is looked for as, in the current folder."""


Rates = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Training:
    """How every unit is trained.

    Attributes
    ----------
    rates : highest learning rate in float and with quantizers, by unit; "" for all others. Signs of the
        weights of MF products turn late with small steps.
    warmup : part of the steps in which the rate rises.
    train, validation, test : how many images of each split are used, 0 for all.
    """

    epochs: int
    quantized_epochs: int
    rates: Rates
    batch: int
    decay: float
    smoothing: float
    warmup: float
    train: int = 0
    validation: int = 0
    test: int = 0

    def settings(self, unit: str) -> dict[str, Any]:
        """Return what decides how `unit` is trained; of the rates, its own."""
        return asdict(self) | {"rates": self.rates.get(unit, self.rates[""])}


REDUCED = {"width": 64, "depth": 2, "hidden": 128, "patch": 0}
REDUCED_RATES: Rates = {"": (0.003, 0.001), "mf-attention": (0.006, 0.001), MF_VIT: (0.03, 0.005)}
PAPER = Training(30, 3, {"": (3e-4, 1e-4), MF_VIT: (0.01, 0.001)}, 128, 0.05, 0.0, 5 / 30)
"""AdamW, a linear rise over 5 epochs, half a cosine down, splits of 45,000 and 5,000: the compact ViT's settings in
"Learned Queries and Keys"; Mini-ViT's are the same but for 30 epochs, as far as the paper says."""
PRESETS_OF_STUDY: dict[str, tuple[str, dict[str, int], dict[str, Training]]] = {
    "reduced": (
        "mini-vit",
        REDUCED,
        {
            "digits": Training(25, 2, REDUCED_RATES, 64, 0.01, 0.1, 0.2),
            "": Training(5, 1, REDUCED_RATES, 128, 0.01, 0.1, 0.2, train=10000, validation=1000),
        },
    ),
    "paper": ("mini-vit", {"width": 128, "depth": 4, "hidden": 256}, {"": PAPER}),
    "paper-compact": (
        "compact-vit",
        {"width": 192, "depth": 6, "hidden": 768},
        {"": replace(PAPER, epochs=100, warmup=5 / 100)},
    ),
}
"""Model, its options, and the training for each data set, "" for any other."""


@dataclass(frozen=True)
class Setup:
    """All that the points of one call share."""

    model: str
    options: dict[str, int]
    training: Training
    dataset: Dataset
    digest: str

    @classmethod
    def of(cls, preset: str, data: str, changes: dict[str, int]) -> Setup:
        """Return the setup of a preset on a data set, with `changes` of its training or of the model's options.

        Raises `MfsimError` if one is less than 1, or less than 0 where 0 is all images, no epoch or the patch of the data.
        """
        for name, value in changes.items():
            least = 0 if name in ("quantized_epochs", "train", "validation", "test", "patch") else 1
            if value < least:
                raise MfsimError(f"`{name}` must be at least {least}, not {value}")
        model, options, trainings = PRESETS_OF_STUDY[preset]
        training = trainings.get(data, trainings[""])
        own = {name: value for name, value in changes.items() if name in asdict(training)}
        training = replace(training, **own)
        whole = datasets.load(found(data))
        splits = [_first(getattr(whole, name), getattr(training, name)) for name in ("train", "validation", "test")]
        dataset = Dataset(data, *splits, whole.classes, whole.input_shape)
        digest = hashlib.sha256("".join(map(data_digest, splits)).encode()).hexdigest()
        others = {name: value for name, value in changes.items() if name not in own}
        return cls(model, options | others, training, dataset, digest)

    def key(self, unit: str, seed: int) -> str:
        """Return the sha256 of all that a person chooses for a point, of its images and of the packages."""
        unit = same(unit, self.options)
        config = asdict(CHANGED.get(unit, PRESETS[unit])) if unit in PRESETS else {}
        config = {name: value for name, value in config.items() if value != getattr(AttentionConfig, name)}
        tools = {name: version for name, version in tool_versions().items() if name != "onnxruntime"}
        content = [unit, config, self.model, self.options, self.training.settings(unit), self.digest, seed, tools]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def found(data: str) -> str:
    """Return what `mfsim.data.load` takes for `data`: itself, but a local copy for cifar10."""
    if data != "cifar10":
        return data
    here = [name for name in CIFAR10 if pathlib.Path(name).exists()]
    if not here:
        raise DataError(f"`cifar10` must be in the current folder, as {' or '.join(CIFAR10)}")
    return here[0]


def _first(split: Split, number: int) -> Split:
    return split.first(number) if number else split


def same(unit: str, options: dict[str, int]) -> str:
    """Return the unit that stands for `unit`: itself, or one that is the same network."""
    width = options.get("width", 128)
    return SAME.get(unit, unit) if width & (width - 1) == 0 else unit


def network(unit: str, setup: Setup, seed: int) -> nn.Module:
    """Return the float network of a unit with fresh weights."""
    name, options = setup.model, dict[str, Any](setup.options)
    if unit == MF_VIT:
        name = MF_VIT
    elif unit == "chained-vo":
        name, options = "min-transformer", options | {"norm": "none", "residual": False}
    if unit != MF_VIT:
        options["attention"] = CHANGED.get(unit, unit)
    return models.create(name, setup.dataset.input_shape, setup.dataset.classes, seed=seed, **options)


def compute(unit: str, setup: Setup, seed: int) -> dict[str, Any]:
    """Return the figures of one point: accuracies on the test images, parameters, operations, seconds."""
    began, training, data = time.monotonic(), setup.training, setup.dataset
    rate, quantized_rate = training.settings(unit)["rates"]
    model = network(unit, setup, seed)
    history = fit(
        model,
        data.train,
        data.validation,
        epochs=training.epochs,
        learning_rate=rate,
        batch_size=training.batch,
        weight_decay=training.decay,
        label_smoothing=training.smoothing,
        warmup=training.warmup,
        seed=seed,
    )
    figures: dict[str, Any] = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "best_epoch": history.best.number,
        "float": accuracy(model, data.test),
    }
    try:
        figures |= integers(model, setup, quantized_rate, seed)
    except UnsupportedOpError as error:
        figures |= {"integer": None, "reason": str(error).partition(";")[0]}
    return figures | {"seconds": round(time.monotonic() - began, 1)}


def integers(model: nn.Module, setup: Setup, quantized_rate: float, seed: int) -> dict[str, Any]:
    """Return the figures of the 8-bit integer program of a trained network."""
    training, data = setup.training, setup.dataset
    example = torch.from_numpy(data.train.images[:2])
    folded = quant.fold(model, example).eval()
    quantized = quant.quantize(folded, Recipe(), data.train.first(CALIBRATION).images)
    calibrated = accuracy(quantized, data.validation)
    if training.quantized_epochs:
        quant.finetune(
            quantized,
            data.train,
            data.validation,
            epochs=training.quantized_epochs,
            learning_rate=quantized_rate,
            batch_size=training.batch,
            seed=seed,
        )
    program = compile_model(quantized_model(quantized, example))
    (output,) = program.outputs
    codes = quantize_input(program, {program.inputs[0]: data.test.images})
    result = simulate(program, codes, threads=1)
    few = codes_of(program, {output: logits(quantized, data.test.images[:COMPARED]).numpy()})[output]
    return {
        "calibrated_validation": calibrated,
        "integer": float(np.mean(classes(program, result.output) == data.test.labels)),
        "compared": len(few),
        "differences": int((few != result.output[: len(few)]).any(axis=-1).sum()),
        **operations(count(program)),
    }


def operations(report: CountReport) -> dict[str, Any]:
    """Return the operations of one image, multiplications by class among them, and whether none multiplies."""
    try:
        strict_multiplication_free(report)
        free = True
    except CountError:
        free = False
    by_primitive = report.by_primitive()
    return {
        "operations": report.total,
        "by_primitive": by_primitive,
        "multiplications": report.by_class() | {name: by_primitive[name] for name in ("div", "sqrt")},
        "tables": [[table.entries, table.input_bits] for table in report.tables],
        "multiplication_free": free,
    }
