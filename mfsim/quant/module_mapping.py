"""Where quantizers go: which layer of a network is replaced by what.

A quantized layer stands at the path of the float one. Weights, WHT, soft thresholds, clips, nonlinear
functions, embeddings and layers of two activations get quantizers; everything that is exact on codes
(ReLU, max pooling, layout, padding, additions) stays as it is, and anything else is refused by name, so
that nothing is left out in silence. Mean pools stay too, but for wide ones of sums, see
`mfsim.ops.pool.quant`. A layer that stays gets a quantizer behind it if the recipe names it: a residual
addition needs one scale for all channels, which neither weights by channel nor a `Shift` leave.
`CachedRows` always get one. A `WHTLayer` has one quantizer at its entry, which transform and residual
share, one in front of its product, and one in front of the inverse transform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from mfsim.errors import UnsupportedOpError
from mfsim.nn import (
    DCT,
    WHT,
    Abs,
    Affine,
    AvgPool2d,
    CachedRows,
    CsdGain,
    Filterbank,
    GlobalAvgPool2d,
    Gram,
    Rope,
    Scaling,
    Shift,
    ShiftBatchNorm1d,
    SoftThreshold,
    TokenEmbedding,
    WHTLayer,
)
from mfsim.ops.dense.quant import QuantGram
from mfsim.ops.elementwise.quant import QuantHardtanh, QuantSoftThreshold
from mfsim.ops.lookup.quant import QuantEmbedding
from mfsim.ops.pool.quant import POOLS
from mfsim.ops.wht.quant import QuantWHT
from mfsim.quant.fold import BATCH_NORMS, replace_module
from mfsim.quant.layers import PRODUCTS, Words
from mfsim.quant.network import QuantizedNetwork, requantized
from mfsim.quant.nonlinear import NONLINEAR
from mfsim.quant.observer import RESULT, Place
from mfsim.quant.pairs import PAIRS
from mfsim.quant.quantizers import ActivationQuant
from mfsim.quant.structured import STRUCTURED, QuantShiftAffine
from mfsim.quant.tokens import QuantRope, QuantTokenEmbedding

EXACT = (
    nn.Identity,
    nn.ReLU,
    nn.MaxPool2d,
    nn.Flatten,
    nn.Unflatten,
    nn.ZeroPad2d,
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    Abs,
    AvgPool2d,
    CsdGain,
    GlobalAvgPool2d,
    Shift,
)
"""Layers that are exact on codes and stay as they are."""

OTHERS: dict[str, Callable[..., nn.Module]] = {
    "QuantCachedRows": requantized,
    "QuantEmbedding": QuantEmbedding,
    "QuantGram": QuantGram,
    "QuantHardtanh": QuantHardtanh,
    "QuantRope": QuantRope,
    "QuantShiftAffine": QuantShiftAffine,
    "QuantSoftThreshold": QuantSoftThreshold,
    "QuantTokenEmbedding": QuantTokenEmbedding,
    "QuantWHT": QuantWHT,
    "Requantized": requantized,
    **{kind.__name__: kind for kind in (*PAIRS.values(), *POOLS.values(), *NONLINEAR.values())},
}
"""What makes the quantized layers that are no products with weights, by the kind of their site."""

CONTAINERS = (nn.ModuleDict, nn.ModuleList, nn.Sequential)

KNOWN = tuple(dict.fromkeys((*STRUCTURED, nn.Embedding, Gram, Rope, TokenEmbedding, *PAIRS, *NONLINEAR)))

INPUT = {"input_quant": 0}

PORTS: dict[str, Mapping[str, int]] = {
    "ActivationQuant": {"": 0},
    "QuantCachedRows": {"result_quant": RESULT},
    "QuantEmbedding": {"table_quant": RESULT},
    "Requantized": {"result_quant": RESULT},
    **{kind.__name__: {"a_quant": 0, "b_quant": 1} for kind in PAIRS.values()},
    **{kind.__name__: {"input_quant": 0, "y_scale": RESULT} for kind in NONLINEAR.values()},
}
"""For each kind what has a scale, and which values decide it; `INPUT` for all others."""


def places(path: str, kind: str) -> dict[str, Place]:
    """Return the places whose values decide the scales of a layer.

    Parameters
    ----------
    path : str
        Of the layer.
    kind : str
        Name of the quantized layer's class.

    Returns
    -------
    dict of str to Place
        By path of what has a scale.
    """
    return {f"{path}.{name}".strip("."): Place(path, port) for name, port in PORTS.get(kind, INPUT).items()}


@dataclass(frozen=True)
class Site:
    """A layer that is replaced: its kind names the quantized layer, `options` are its other arguments."""

    path: str
    kind: str
    options: Mapping[str, Any]

    def places(self) -> dict[str, Place]:
        """Return for everything here that has a scale, by its path, the place whose values decide it."""
        return places(self.path, self.kind)

    def build(self, layer: nn.Module) -> nn.Module:
        """Return the quantized layer for the float `layer`.

        Parameters
        ----------
        layer : torch.nn.Module
            The float layer at `path`.

        Returns
        -------
        torch.nn.Module
            With scales still to be filled in.
        """
        options = dict(self.options)
        products = {quantized.__name__: quantized for quantized in (*PRODUCTS.values(), *STRUCTURED.values())}
        if self.kind in products:
            return products[self.kind](layer, Words(**options))
        if self.kind == "ActivationQuant":
            return ActivationQuant(**options)
        return OTHERS[self.kind](layer, **options)


def leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module, WHTLayer | None]]:
    """Yield every module without children, empty containers left out.

    Parameters
    ----------
    model : torch.nn.Module

    Yields
    ------
    tuple of (str, torch.nn.Module, WHTLayer or None)
        Path, layer, and the `WHTLayer` that it stands in directly.
    """
    for path, module in model.named_modules():
        if not any(True for _ in module.children()) and not isinstance(module, CONTAINERS):
            parent = model.get_submodule(path.rpartition(".")[0]) if path else None
            yield path, module, parent if isinstance(parent, WHTLayer) else None


def quantized_kind(path: str, layer: nn.Module, around: WHTLayer | None, named: bool) -> str:
    """Return the class name of the quantized layer that replaces a float one.

    Parameters
    ----------
    path : str
        Of the layer.
    layer : torch.nn.Module
        The float layer.
    around : WHTLayer or None
        The one that it stands in directly.
    named : bool
        Whether the recipe names it, so that one that stays gets a quantizer behind it.

    Returns
    -------
    str
        "" for a layer that stays.

    Raises
    ------
    UnsupportedOpError
        If the layer cannot be quantized, or must be folded before.
    """
    name = path.rpartition(".")[2]
    if around is not None and name == "entry":
        return "ActivationQuant"
    if around is not None and name == "transform":
        return ""
    if type(layer) in PRODUCTS:
        return PRODUCTS[type(layer)].__name__
    if isinstance(layer, WHT):
        return "QuantWHT"
    if isinstance(layer, SoftThreshold):
        return "QuantSoftThreshold"
    if isinstance(layer, nn.Hardtanh):
        return "QuantHardtanh"
    if isinstance(layer, Affine) and layer.kind != "free":
        return "QuantShiftAffine"
    if isinstance(layer, Scaling) and layer.kind == "shift":
        raise UnsupportedOpError(f"layer `{path}` (Scaling) must be folded before quantization; call fold first")
    if isinstance(layer, DCT) and layer.form != "dense":
        return "QuantFastDCT"
    if isinstance(layer, Filterbank) and layer.form != "product":
        return "QuantFilterbankFFT"
    if type(layer) in STRUCTURED:
        return STRUCTURED[type(layer)].__name__
    if isinstance(layer, nn.Embedding):
        return "QuantEmbedding"
    if isinstance(layer, Gram):
        return "QuantGram"
    if isinstance(layer, Rope):
        return "QuantRope"
    if isinstance(layer, TokenEmbedding):
        return "QuantTokenEmbedding"
    if type(layer) in PAIRS:
        return PAIRS[type(layer)].__name__
    if type(layer) in NONLINEAR:
        return NONLINEAR[type(layer)].__name__
    if isinstance(layer, CachedRows):
        return "QuantCachedRows"
    if isinstance(layer, EXACT):
        return "Requantized" if named else ""
    kind = type(layer).__name__
    if isinstance(layer, (*BATCH_NORMS, ShiftBatchNorm1d)):
        raise UnsupportedOpError(f"layer `{path}` ({kind}) must be folded before quantization; call fold first")
    known = ", ".join(k.__name__ for k in (*PRODUCTS, WHT, SoftThreshold, nn.Hardtanh, nn.ReLU6, *KNOWN, *EXACT))
    raise UnsupportedOpError(f"layer `{path}` ({kind}) cannot be quantized; the layers that can are {known}")


def assemble(model: nn.Module, sites: list[Site], outputs: int, output_bits: int) -> QuantizedNetwork:
    """Return `model` with its layers at `sites` replaced, and quantizers behind it; scales are still to be filled in.

    Parameters
    ----------
    model : torch.nn.Module
        A folded float network; changed in place.
    sites : list of Site
    outputs : int, at least 1
        Number of the network's outputs.
    output_bits : int in 2..32
        Of each output's word.

    Returns
    -------
    QuantizedNetwork
    """
    for site in sites:
        model = replace_module(model, site.path, site.build(model.get_submodule(site.path)))
    return QuantizedNetwork(model, tuple(sites), outputs, output_bits)
