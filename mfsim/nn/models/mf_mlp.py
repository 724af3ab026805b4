"""`mf-mlp`: two hidden multiplication-free layers."""

from __future__ import annotations

import math
from collections import OrderedDict

from torch import nn

from mfsim.nn.mf import MFLinear
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d


def build(input_shape: tuple[int, int, int], classes: int, *, width: int = 128, form: str = "ef") -> nn.Module:
    """Return the network for images of `input_shape` (C, H, W).

    Parameters
    ----------
    width : int
        Of both hidden layers.
    form : {"ef", "abs"}
        The MF operator.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    features = math.prod(input_shape)
    for number in (1, 2):
        layers[f"linear{number}"] = MFLinear(features, width, bias=False, form=form)
        layers[f"norm{number}"] = ShiftBatchNorm1d(width)
        layers[f"relu{number}"] = nn.ReLU()
        features = width
    layers["head"] = MFLinear(width, classes, bias=False, form=form)
    layers["head_norm"] = ShiftBatchNorm1d(classes)
    return nn.Sequential(layers)
